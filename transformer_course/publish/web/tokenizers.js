// Text becomes tokens and ids, and ids become text: by words, or by sub-words.
"use strict";

const WORD_BEGINS = "▁"; // sentencepiece's mark at the beginning of a word, in the place of a space

// translation/corpora/vocabulary.py: tidy
function tidy(text) {
  const composed = text.normalize("NFC").replaceAll("\ufeff", "");
  return composed.split(/[\s\x1c-\x1f\x85]+/u).filter(Boolean).join(" ");
}

// translation/corpora/vocabulary.py: Vocabulary
class Vocabulary {
  constructor(tokens, { PAD, BOS, EOS, UNK }) {
    this.all = tokens;
    this.silent = [PAD, BOS, EOS];
    this.unknown = UNK;
    this.numbers = new Map(tokens.map((token, id) => [token, id]));
  }

  // All tokens but the special ones.
  get known() {
    return this.all.slice(this.silent.length + 1);
  }

  knows(token) {
    return this.numbers.has(token);
  }

  ids(tokens) {
    return tokens.map((token) => this.numbers.get(token) ?? this.unknown);
  }

  spoken(ids) {
    return ids.filter((id) => !this.silent.includes(id)).map((id) => this.all[id]);
  }
}

class WordTokenizer extends Vocabulary {
  unit = "word";

  // translation/corpora/vocabulary.py: WordTokenizer.tokens
  // A translator that knows neither capitals nor punctuation does not need Moses' rules: a word is
  // a run of letters and digits, which may hold apostrophes and hyphens.
  tokens(text) {
    const word = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
    return tidy(text).toLowerCase().match(word) ?? [];
  }

  // translation/corpora/vocabulary.py: WordTokenizer.decode
  // Of Moses' rules it needs one: nothing stands between *l'* and the word after it.
  text(ids) {
    return this.spoken(ids).join(" ").replaceAll("' ", "'");
  }
}

class SubwordTokenizer extends Vocabulary {
  unit = "piece";

  constructor(tokens, special, scores) {
    super(tokens, special);
    this.scores = new Map(this.known.map((token) => [token, scores[this.numbers.get(token)]]));
  }

  // translation/corpora/subwords.py: SubwordTokenizer.tokens
  // Begin with the characters and merge two neighbours, again and again: always those whose union
  // has the best score, the first of them if there are several.
  tokens(text) {
    const pieces = [...this.marked(text)];
    for (;;) {
      let [best, place] = [-Infinity, -1];
      for (let i = 0; i + 1 < pieces.length; i++) {
        const score = this.scores.get(pieces[i] + pieces[i + 1]);
        if (score > best) [best, place] = [score, i];
      }
      if (place < 0) return this.withUnknownJoined(pieces);
      pieces.splice(place, 2, pieces[place] + pieces[place + 1]);
    }
  }

  marked(text) {
    return (WORD_BEGINS + tidy(text).replaceAll(" ", WORD_BEGINS)).replace(/▁+$/, "");
  }

  // Unknown characters that follow each other are one unknown token.
  withUnknownJoined(pieces) {
    return pieces.reduce((joined, piece) => {
      const follows = joined.length > 0 && !this.knows(joined.at(-1)) && !this.knows(piece);
      return follows ? [...joined.slice(0, -1), joined.at(-1) + piece] : [...joined, piece];
    }, []);
  }

  // translation/corpora/subwords.py: SubwordTokenizer.decode
  text(ids) {
    return this.spoken(ids).join("").replaceAll(WORD_BEGINS, " ").replace(/^ +/, "");
  }
}
