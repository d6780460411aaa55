"""Transformer from scratch, after the video: a small invented language, "Talu".

English-like sentences are translated into Talu: the verb goes last, adjectives
follow their noun and agree with it, verbs agree with the subject, "ka" marks the object.
"""

import math
import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformer_course.examine import Subject
SEQ_LEN, MAX_WORDS = 24, 16
D_MODEL, N_LAYERS, HEADS, D_FF, DROPOUT = 32, 2, 4, 64, 0.1
LR, BATCH_SIZE, BEAM_SIZE = 3e-3, 32, 3
UNK, PAD, SOS, EOS = 0, 1, 2, 3
SPECIALS = ["[UNK]", "[PAD]", "[SOS]", "[EOS]"]

# ---------------------------------------------------------------- the language
NOUNS = {
    "dog": ("pelo", "m"), "cat": ("mira", "f"), "bird": ("sito", "m"), "horse": ("garu", "m"),
    "girl": ("nela", "f"), "boy": ("nelo", "m"), "teacher": ("dosa", "f"), "fish": ("vama", "f"),
    "king": ("torgo", "m"), "queen": ("torga", "f"),
}
NAMES = {"Anna": "anaka", "Peter": "petru", "Maria": "marik", "Tom": "tomak"}
ADJECTIVES = {"small": "pik", "big": "grom", "old": "vet", "red": "rus", "clever": "sav"}
TRANSITIVE = {"see": "vid", "love": "am", "hear": "osk", "find": "trov", "help": "hil"}
INTRANSITIVE = {"sleep": "dorm", "run": "kur", "sing": "lal"}
ADVERBS = {"today": "odi", "often": "sepe", "now": "nu"}

def noun_phrase(rng):
    """English words, Talu words, and whether it is plural."""
    if rng.random() < 0.2:
        name = rng.choice(list(NAMES))
        return [name], [NAMES[name]], False
    noun = rng.choice(list(NOUNS))
    plural = rng.random() < 0.4
    definite = rng.random() < 0.6
    stem, gender = NOUNS[noun]
    english = ["the" if definite else ("some" if plural else "a")]
    talu = [stem + ("r" if plural else "")]
    if rng.random() < 0.45:
        adjective = rng.choice(list(ADJECTIVES))
        english.append(adjective)
        talu.append(ADJECTIVES[adjective] + ("o" if gender == "m" else "a") + ("r" if plural else ""))
    english.append(noun + ("s" if plural else ""))
    talu.append("lu" if definite else "un")
    return english, talu, plural

def clause(rng):
    english, talu, plural = noun_phrase(rng)
    verbs = TRANSITIVE if rng.random() < 0.7 else INTRANSITIVE
    verb = rng.choice(list(verbs))
    negated = rng.random() < 0.25
    if negated:
        english += ["do" if plural else "does", "not", verb]
    else:
        english += [verb if plural else verb + "s"]
    if verbs is TRANSITIVE:
        object_english, object_talu, _ = noun_phrase(rng)
        english += object_english
        talu += object_talu + ["ka"]
    if rng.random() < 0.25:
        adverb = rng.choice(list(ADVERBS))
        english = [adverb] + english
        talu.append(ADVERBS[adverb])
    talu.append(verbs[verb] + ("in" if plural else "it"))
    return english, talu + (["nem"] if negated else [])

def write_corpus(rng, lines):
    """Two lists of lines, as they would be read from two files."""
    english_lines, talu_lines, seen = [], [], set()
    while len(english_lines) < lines:
        english, talu = clause(rng)
        if rng.random() < 0.2:
            more_english, more_talu = clause(rng)
            english = english + ["and"] + more_english
            talu = talu + ["e"] + more_talu
        english = " ".join(english)
        if english not in seen:
            seen.add(english)
            english_lines.append(english[0].upper() + english[1:])
            talu_lines.append(" ".join(talu))
    return english_lines, talu_lines

def clean(english_lines, talu_lines):
    """Throw away pairs that are too long."""
    return [(english, talu) for english, talu in zip(english_lines, talu_lines)
            if len(english.split()) <= MAX_WORDS and len(talu.split()) <= MAX_WORDS]

class Tokenizer:
    def __init__(self, sentences):
        words = sorted({word for sentence in sentences for word in self.split(sentence)})
        self.words = SPECIALS + words
        self.ids = {word: i for i, word in enumerate(self.words)}
    def split(self, sentence):
        return sentence.lower().split()
    def encode(self, sentence):
        return [self.ids.get(word, UNK) for word in self.split(sentence)]
    def decode(self, ids):
        return " ".join(self.words[i] for i in ids)
    def get_vocab_size(self):
        return len(self.words)

# ------------------------------------------------------------------- the dataset
def causal_mask(size):
    return torch.triu(torch.ones((1, size, size)), diagonal=1).type(torch.int) == 0

def make_encoder_mask(encoder_input):
    # (seq) -> (1, 1, seq), (batch, seq) -> (batch, 1, 1, seq)
    return (encoder_input != PAD).unsqueeze(-2).unsqueeze(-2)

def make_decoder_mask(decoder_input):
    # (seq) -> (1, seq, seq), (batch, seq) -> (batch, 1, seq, seq)
    not_padding = (decoder_input != PAD).unsqueeze(-2).unsqueeze(-2)
    return not_padding & causal_mask(decoder_input.shape[-1])

class BilingualDataset(Dataset):
    def __init__(self, pairs, seq_len):
        self.pairs = pairs
        self.seq_len = seq_len
    def __len__(self):
        return len(self.pairs)
    def __getitem__(self, index):
        source_tokens, target_tokens = self.pairs[index]
        enc_num_padding = self.seq_len - len(source_tokens) - 2  # [SOS] and [EOS]
        dec_num_padding = self.seq_len - len(target_tokens) - 1  # only one of them
        if enc_num_padding < 0 or dec_num_padding < 0:
            raise ValueError("Sentence is too long")
        encoder_input = torch.tensor([SOS] + list(source_tokens) + [EOS] + [PAD] * enc_num_padding)
        decoder_input = torch.tensor([SOS] + list(target_tokens) + [PAD] * dec_num_padding)
        label = torch.tensor(list(target_tokens) + [EOS] + [PAD] * dec_num_padding)
        return {
            "encoder_input": encoder_input, "decoder_input": decoder_input, "label": label,
            "encoder_mask": make_encoder_mask(encoder_input), "decoder_mask": make_decoder_mask(decoder_input)}

# --------------------------------------------------------------------- the model
class LayerNormalization(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        std = x.std(dim=-1, keepdim=True)
        return self.alpha * (x - mean) / (std + self.eps) + self.bias

class InputEmbeddings(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
    def forward(self, x):
        return self.embedding(x) * math.sqrt(self.d_model)

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout, max_len=512):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))  # (1, max_len, d_model)
    def forward(self, x):
        x = x + self.pe[:, :x.shape[1], :]
        return self.dropout(x)

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)
        self.linear_2 = nn.Linear(d_ff, d_model)
    def forward(self, x):
        return self.linear_2(self.dropout(torch.relu(self.linear_1(x))))

class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        assert d_model % h == 0, "d_model is not divisible by h"
        self.h = h
        self.d_k = d_model // h
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
    def split_heads(self, x):
        # (batch, seq_len, d_model) -> (batch, h, seq_len, d_k)
        return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)
    def attention(self, query, key, value, mask):
        attention_scores = (query @ key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            attention_scores.masked_fill_(mask == 0, -1e9)
        attention_scores = attention_scores.softmax(dim=-1)
        attention_scores = self.dropout(attention_scores)
        return attention_scores @ value
    def forward(self, q, k, v, mask):
        query = self.split_heads(self.w_q(q))
        key = self.split_heads(self.w_k(k))
        value = self.split_heads(self.w_v(v))
        x = self.attention(query, key, value, mask)
        # (batch, h, seq_len, d_k) -> (batch, seq_len, d_model)
        x = x.transpose(1, 2).contiguous().view(x.shape[0], -1, self.h * self.d_k)
        return self.w_o(x)

class ResidualConnection(nn.Module):
    def __init__(self, features, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = LayerNormalization(features)
    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))

class EncoderBlock(nn.Module):
    def __init__(self, features, h, d_ff, dropout):
        super().__init__()
        self.self_attention_block = MultiHeadAttentionBlock(features, h, dropout)
        self.feed_forward_block = FeedForwardBlock(features, d_ff, dropout)
        self.residual_connections = nn.ModuleList([ResidualConnection(features, dropout) for _ in range(2)])
    def forward(self, x, src_mask):
        x = self.residual_connections[0](x, lambda x: self.self_attention_block(x, x, x, src_mask))
        return self.residual_connections[1](x, self.feed_forward_block)

class Encoder(nn.Module):
    def __init__(self, features, layers):
        super().__init__()
        self.layers = layers
        self.norm = LayerNormalization(features)
    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)

class DecoderBlock(nn.Module):
    def __init__(self, features, h, d_ff, dropout):
        super().__init__()
        self.self_attention_block = MultiHeadAttentionBlock(features, h, dropout)
        self.cross_attention_block = MultiHeadAttentionBlock(features, h, dropout)
        self.feed_forward_block = FeedForwardBlock(features, d_ff, dropout)
        self.residual_connections = nn.ModuleList([ResidualConnection(features, dropout) for _ in range(3)])
    def forward(self, x, encoder_output, src_mask, tgt_mask):
        x = self.residual_connections[0](x, lambda x: self.self_attention_block(x, x, x, tgt_mask))
        x = self.residual_connections[1](
            x, lambda x: self.cross_attention_block(x, encoder_output, encoder_output, src_mask))
        return self.residual_connections[2](x, self.feed_forward_block)

class Decoder(nn.Module):
    def __init__(self, features, layers):
        super().__init__()
        self.layers = layers
        self.norm = LayerNormalization(features)
    def forward(self, x, encoder_output, src_mask, tgt_mask):
        for block in self.layers:
            x = block(x, encoder_output, src_mask, tgt_mask)
        return self.norm(x)

class ProjectionLayer(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.proj = nn.Linear(d_model, vocab_size)
    def forward(self, x):
        return torch.log_softmax(self.proj(x), dim=-1)

class Transformer(nn.Module):
    def __init__(self, src_vocab_size, tgt_vocab_size):
        super().__init__()
        self.src_embed = InputEmbeddings(D_MODEL, src_vocab_size)
        self.tgt_embed = InputEmbeddings(D_MODEL, tgt_vocab_size)
        self.src_pos = PositionalEncoding(D_MODEL, DROPOUT)
        self.tgt_pos = PositionalEncoding(D_MODEL, DROPOUT)
        size = (D_MODEL, HEADS, D_FF, DROPOUT)
        self.encoder = Encoder(D_MODEL, nn.ModuleList([EncoderBlock(*size) for _ in range(N_LAYERS)]))
        self.decoder = Decoder(D_MODEL, nn.ModuleList([DecoderBlock(*size) for _ in range(N_LAYERS)]))
        self.projection_layer = ProjectionLayer(D_MODEL, tgt_vocab_size)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
    def encode(self, src, src_mask):
        return self.encoder(self.src_pos(self.src_embed(src)), src_mask)
    def decode(self, encoder_output, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_pos(self.tgt_embed(tgt)), encoder_output, src_mask, tgt_mask)
    def project(self, x):
        return self.projection_layer(x)

# ------------------------------------------------------------ training, decoding
def predict(model, encoder_input, decoder_input, encoder_mask, decoder_mask):
    encoder_output = model.encode(encoder_input, encoder_mask)
    decoder_output = model.decode(encoder_output, encoder_mask, decoder_input, decoder_mask)
    return model.project(decoder_output)  # (batch, seq_len, tgt_vocab_size)

loss_fn = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)

def compute_loss(proj_output, label):
    return loss_fn(proj_output.reshape(-1, proj_output.shape[-1]), label.reshape(-1))

def train_on_batch(model, optimizer, batch):
    model.train()
    proj_output = predict(
        model, batch["encoder_input"], batch["decoder_input"], batch["encoder_mask"], batch["decoder_mask"])
    loss = compute_loss(proj_output, batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

def train_model(model, optimizer, pairs, epochs):
    loader = DataLoader(BilingualDataset(pairs, SEQ_LEN), batch_size=BATCH_SIZE, shuffle=True)
    for epoch in range(epochs):
        losses = [train_on_batch(model, optimizer, batch) for batch in loader]
        print(f"epoch {epoch:02d} loss {sum(losses) / len(losses):.3f}")

def source_tensor(source_tokens):
    return torch.tensor([[SOS] + list(source_tokens) + [EOS]])

def strip(tokens):
    return [token for token in tokens[1:] if token != EOS]

def greedy_decode(model, source_tokens, max_len):
    source = source_tensor(source_tokens)
    source_mask = make_encoder_mask(source)
    encoder_output = model.encode(source, source_mask)
    decoder_input = torch.tensor([[SOS]])
    while decoder_input.size(1) < max_len:
        decoder_mask = causal_mask(decoder_input.size(1))
        out = model.decode(encoder_output, source_mask, decoder_input, decoder_mask)
        _, next_word = torch.max(model.project(out)[:, -1], dim=1)
        decoder_input = torch.cat([decoder_input, next_word.unsqueeze(0)], dim=1)
        if next_word.item() == EOS:
            break
    return strip(decoder_input.squeeze(0).tolist())

def beam_search_decode(model, beam_size, source_tokens, max_len):
    source = source_tensor(source_tokens)
    source_mask = make_encoder_mask(source)
    encoder_output = model.encode(source, source_mask)
    candidates = [(torch.tensor([[SOS]]), 0.0)]
    for _ in range(max_len - 1):
        new_candidates = []
        for candidate, score in candidates:
            if candidate[0, -1].item() == EOS:
                new_candidates.append((candidate, score))  # finished
                continue
            candidate_mask = causal_mask(candidate.size(1))
            out = model.decode(encoder_output, source_mask, candidate, candidate_mask)
            prob = model.project(out)[:, -1]
            topk_prob, topk_idx = torch.topk(prob, beam_size, dim=1)
            for token_prob, token in zip(topk_prob[0], topk_idx[0]):
                longer = torch.cat([candidate, token.view(1, 1)], dim=1)
                new_candidates.append((longer, score + token_prob.item()))
        candidates = sorted(new_candidates, key=lambda c: c[1], reverse=True)[:beam_size]
        if all(candidate[0, -1].item() == EOS for candidate, _ in candidates):
            break
    return strip(candidates[0][0].squeeze(0).tolist())

# ------------------------------------------------------------ all of it together
def get_data():
    english_lines, talu_lines = write_corpus(random.Random(7), 1700)
    pairs = clean(english_lines, talu_lines)
    tokenizer_src = Tokenizer([english for english, _ in pairs])
    tokenizer_tgt = Tokenizer([talu for _, talu in pairs])
    encoded = [(tokenizer_src.encode(english), tokenizer_tgt.encode(talu)) for english, talu in pairs]
    random.Random(8).shuffle(encoded)
    return encoded[80:], encoded[:80], tokenizer_src, tokenizer_tgt

def make():
    torch.manual_seed(0)
    train, test, tokenizer_src, tokenizer_tgt = get_data()
    model = Transformer(tokenizer_src.get_vocab_size(), tokenizer_tgt.get_vocab_size())
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, eps=1e-9)
    def scores(source, target):
        return predict(model, source, target, make_encoder_mask(source), make_decoder_mask(target))
    def collate(pairs):
        longest = max(max(len(source), len(target)) for source, target in pairs)
        dataset = BilingualDataset(pairs, max(SEQ_LEN, longest + 2))
        items = [dataset[i] for i in range(len(dataset))]
        return tuple(torch.stack([item[key] for item in items])
                     for key in ("encoder_input", "decoder_input", "label"))
    def training_step(source, target_in, target_out):
        return train_on_batch(model, optimizer, {
            "encoder_input": source, "decoder_input": target_in, "label": target_out,
            "encoder_mask": make_encoder_mask(source), "decoder_mask": make_decoder_mask(target_in)})

    @torch.no_grad()
    def translate(sources):
        model.eval()
        return [greedy_decode(model, source, SEQ_LEN) for source in sources]

    @torch.no_grad()
    def beam(sources):
        model.eval()
        return [beam_search_decode(model, BEAM_SIZE, source, SEQ_LEN) for source in sources]

    return Subject(
        model, source_vocab=tokenizer_src.get_vocab_size(), target_vocab=tokenizer_tgt.get_vocab_size(),
        pad=PAD, bos=SOS, eos=EOS, scores=scores, collate=collate, loss=compute_loss,
        training_step=training_step, translate=translate, beam=beam, train=train, test=test, unknown=UNK)
