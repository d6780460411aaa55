"""The OPUS-MT project's English-French translator, fetched from where it is published.

Source: Tiedemann and Thottingal (2020), "OPUS-MT: Building open translation services for the
World". Its licence is Apache 2.0.
"""

from pathlib import Path

from transformer_course.translation.corpora.downloads import check_sha256, data_folder, download

FOLDER = "opus-mt-en-fr"
# The hub's plain addresses, at a fixed revision: what they name never changes.
REVISION = "dd7f6540a7a48a7f4db59e5c0b9c42c8eea67f18"
MIRRORS = (f"https://huggingface.co/Helsinki-NLP/{FOLDER}/resolve/{REVISION}",)
SHA256 = {
    "config.json": "df92c371911b45282caac6101fe7e7f5d5e9af7f9a99356067ffe306278ce72b",
    "source.spm": "173e9f493a668fe396d599e28d414a201193094e6ffd7a4678e5aab0f6d3d838",
    "target.spm": "78d0e717c77053f1c4b856d8661d9cb87c64f083a35418c087b9146300e4f585",
    "vocab.json": "945c604346ce15ce4aff9001001e7f925e336d942c4087017f191871162cbdc4",
    "pytorch_model.bin": "cc1de10b49342ad2f33e06bc4474ddd6eaca278474903c4a8636ce15680d64de",
}


def opus_mt_en_fr(folder: Path | None = None) -> Path:
    """Return the folder of the published translator; download what is not there, 303 MB in all.

    Each file is checked, and a download that broke off goes on where it stopped.

    Parameters
    ----------
    folder
        See :func:`~transformer_course.translation.data_folder`; the files lie in its subfolder
        ``opus-mt-en-fr``.

    Raises
    ------
    ValueError
        If the folder is unknown, or a file that is there is not the published one.
    OSError
        If a file cannot be downloaded, written or read.
    """
    folder = data_folder(folder) / FOLDER
    for name, sha256 in SHA256.items():
        if (folder / name).exists():
            check_sha256(folder / name, sha256)
        else:
            download(folder / name, sha256, MIRRORS)
    return folder
