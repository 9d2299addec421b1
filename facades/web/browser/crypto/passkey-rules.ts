/** Characters that every keyboard has; required where the `security` block restricts the characters. */
export const plainPasskey = /^[A-Za-z0-9!@#$%^&*()_+-]+$/

const MIN_LENGTH = 8

/** The reason why a passkey may not be chosen. */
export type PasskeyFault = 'short' | 'characters' | 'guessable'

/** The texts that tell a person why. */
export const faultTexts: Record<PasskeyFault, string> = {
  short: 'page.handshake.short',
  characters: 'page.handshake.weak',
  guessable: 'page.handshake.guessable',
}

interface PasskeyRules {
  isRestricted: boolean
  /** Texts that others know: the username, the e-mail address, the name, the passkey until now. */
  known: readonly string[]
}

/** Checks a new passkey. One that is in use is never checked, as it must go on opening its keychain. */
export function findPasskeyFault(passkey: string, { isRestricted, known }: PasskeyRules): PasskeyFault | undefined {
  if ([...passkey].length < MIN_LENGTH) return 'short'
  if (isRestricted && !plainPasskey.test(passkey)) return 'characters'
  return isGuessable(passkey, known) ? 'guessable' : undefined
}

/** Returns true for what is tried first: known texts, common words, runs of keys, and one of them with digits around it. */
function isGuessable(passkey: string, known: readonly string[]): boolean {
  const text = simplify(passkey)
  if (new Set(text).size < 4) return true
  const core = trimToLetters(text)
  const variants = [text, core, readDigitsAsLetters(text), trimToLetters(readDigitsAsLetters(text))].map(halve)
  const words = new Set([...commonWords, ...known.flatMap(listParts)])
  return variants.some((variant) => words.has(variant)) || isRun(core === '' ? onlyDigits(text) : core)
}

const simplify = (text: string) => text.normalize('NFKC').toLowerCase()

/** Removes digits, signs and blanks around a word. */
const trimToLetters = (text: string) => text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '')

const onlyDigits = (text: string) => text.replace(/\D/g, '')

const lettersByDigit: Record<string, string> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}
const readDigitsAsLetters = (text: string) => text.replace(/[013457@$!]/g, (digit) => lettersByDigit[digit] ?? digit)

/** Returns the half of a text that says the same twice. */
function halve(text: string): string {
  const half = text.slice(0, text.length / 2)
  return half + half === text ? half : text
}

/** Lists a known text and its parts, such as those of an e-mail address. */
const listParts = (text: string) =>
  [simplify(text), ...simplify(text).split('@')]
    .flatMap((part) => [part, trimToLetters(part)])
    .filter((part) => part !== '')

const rows = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiop',
  'qwertzuiopü',
  'asdfghjklöä',
  'zxcvbnm',
  'yxcvbnm',
  'azertyuiop',
  'qazwsxedcrfvtgbyhnujmikolp',
  '1q2w3e4r5t6y7u8i9o0p',
  '1q2w3e4r5t6z7u8i9o0p',
]
const runs = rows.flatMap((row) => [row, [...row].reverse().join('')])
const MIN_RUN = 4

/** Returns true if a text consists of neighbouring keys, or of pieces of them. */
function isRun(text: string): boolean {
  let rest = text
  while (rest.length >= MIN_RUN) {
    const length = measureRun(rest)
    if (length < MIN_RUN) return false
    rest = rest.slice(length)
  }
  return text.length >= MIN_RUN && rest.length < MIN_RUN
}

/** Returns the length of the longest run with which a text begins. */
function measureRun(text: string): number {
  let length = 0
  while (length < text.length && runs.some((run) => run.includes(text.slice(0, length + 1)))) length++
  return length
}

/** Words that lists of leaked passwords begin with, in English and German, without the digits around them. */
const commonWords: ReadonlySet<string> = new Set(
  `aaaaaaaa abcdabcd abgeschlossen access administrator admin alexander amanda america andreas andrea angel anthony arsenal
  ashley austin backup badboy barcelona baseball basketball batman benjamin bitte bonjour brandon butterfly changeme charlie
  cheese chelsea chocolate christian christina christopher computer cookie corona courage daniel danielle daten default
  deutschland diamond dolphin dragon dragons einstein elephant elizabeth endless falcon family fck ferrari flower football
  forever freedom friends frankfurt fussball fußball galaxy geheim geheimnis gibson ginger gott gregory guest hallo hamburg hannah
  hallohallo hallowelt hardcore harley heaven hello helloworld herbst hockey hummel hunter icecream iloveyou iloveu internet
  jackson jasmine jennifer jessica johanna jonathan jordan joshua julian justin katharina kennwort killer lauren letmein
  liverpool login london lovelove loveme lovely maggie manchester marina marlboro martin master matrix matthew maverick melanie
  mercedes merlin michael michelle microsoft minecraft monkey mustang mypassword naruto nathalie natalie nicholas nicole nopassword
  november october oktober oliver orange passkey passphrase passwd passwort password passwords passwordpassword patrick peanut
  pepper pokemon prince princess private purple qwerty qwertz rainbow ranger rebecca robert root samantha samsung schalke schalkenullvier
  schatz schatzi scheisse scheiße schlüssel schluessel schmidt schule secret secure security server shadow sicher sicherheit
  sommer sonne sonnenschein spiderman starwars stephanie stephan student success summer sunflower sunshine superman superstar
  sunday sweetheart tennis test testtest testing thomas thunder tigger trustno trustnoone university universität universitaet user
  valentina vanessa victoria welcome whatever willkommen william winter winston wolfgang yellow zaqwsx`.split(/\s+/),
)
