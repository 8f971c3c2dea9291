// Three languages, one table of words each; `{name}` in a text is filled in.
import { words as de } from "../words/de.js";
import { words as en } from "../words/en.js";
import { words as tr } from "../words/tr.js";

export const LANGUAGES = { tr: "Türkçe", de: "Deutsch", en: "English" };
const ALL = { tr, de, en };

/** The first of the wished languages that there is, else Turkish, the game's own. */
export function pickLanguage(wished) {
  const short = wished.filter(Boolean).map((language) => language.slice(0, 2).toLowerCase());
  return short.find((language) => language in ALL) ?? "tr";
}

/**
 * `t(key, values)` of a language; `t.has(key)` says whether there is such a text, `t.number` writes chips. Of the
 * browser's `wished` locales the first in that language says how times are written, as en-GB does otherwise than en-US.
 */
export function translator(language, wished = []) {
  const words = ALL[language];
  const formatted = new Intl.NumberFormat(language);
  const numbers = { format: (value) => formatted.format(value).replace("-", "−") };
  const locale = wished.find((one) => one.toLowerCase().startsWith(language)) ?? language;
  const moments = new Intl.DateTimeFormat(locale, { dateStyle: "short", timeStyle: "short" });
  const fill = (text, values) =>
    text.replace(/\{(\w+)\}/g, (_, name) => {
      const value = values[name];
      return typeof value === "number" ? numbers.format(value) : String(value ?? "");
    });
  const t = (key, values = {}) => (key in words ? fill(words[key], values) : key);
  t.has = (key) => key in words;
  t.language = language;
  t.number = (value) => numbers.format(value);
  t.signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : "±"}${numbers.format(Math.abs(value))}`;
  t.moment = (ms) => moments.format(new Date(ms));
  return t;
}

/** A refusal in the player's language, with what its `metadata` names; in general words where it has no text. */
export function refusalText(t, reason, metadata = {}) {
  const key = metadata.character ? "refused.character" : `refused.${reason}`;
  return t.has(key) ? t(key, metadata) : t("refused.other", { reason });
}

/** A tile's name for those who hear it. */
export function tileText(t, tile, okey = null) {
  if (!tile) return t("tile.hidden");
  if (tile === "S") return t("tile.sahte");
  const plain = t(`tile.${tile[0]}`, { number: tile.slice(1) });
  return tile === okey ? t("tile.okey", { tile: plain }) : plain;
}
