const en = {
  title: 'Your data',
  madeAt: 'A copy of what :service keeps of :name, as of :time.',
  choose: 'Choose the archive',
  chooseIntro:
    'This page needs no network. Choose the ZIP that it came in, or the folder into which you have unpacked it. Nothing of it leaves this browser.',
  chooseZip: 'ZIP file',
  chooseFolder: 'Unpacked folder',
  noArchive: 'This is no archive of your data, or a part of it is missing.',
  failed: 'This could not be read.',
  unlock: 'Open what is encrypted',
  unlockIntro: 'Your messages are encrypted. Enter your passphrase, or the recovery code that you were given with it.',
  secret: 'Passphrase or recovery code',
  open: 'Open',
  opening: 'Opening …',
  wrongSecret: 'This is neither the passphrase nor the recovery code of this account.',
  parts: 'Parts of the archive',
  conversations: 'Chats',
  shared: 'Shared chats',
  sharedCopy: 'This is the copy that the link leads to. It does not change with its chat.',
  rooms: 'Rooms',
  files: 'Files',
  everything: 'Everything',
  none: 'There is nothing here.',
  self: 'You',
  model: 'Model',
  instructions: 'Instructions for the model',
  locked: 'There is no key for this message.',
  back: 'Back to the list',
  save: 'Save',
  saveFile: 'Save :name',
  damaged: 'This file was damaged, and is not whole.',
  ownOnly: 'What you have written in this room, and your reactions. What others have written belongs to them.',
  reacted: 'Reaction to a message of somebody else',
  reactedToOwn: 'Reaction to your message',
  rows: 'Entries: :count',
  more: 'Show more',
}

export type Texts = typeof en

const de: Texts = {
  title: 'Ihre Daten',
  madeAt: 'Eine Kopie dessen, was :service von :name hat, Stand :time.',
  choose: 'Archiv auswählen',
  chooseIntro:
    'Diese Seite braucht kein Netz. Wählen Sie die ZIP-Datei, in der sie lag, oder den Ordner, in den Sie sie entpackt haben. Nichts davon verlässt diesen Browser.',
  chooseZip: 'ZIP-Datei',
  chooseFolder: 'Entpackter Ordner',
  noArchive: 'Das ist kein Archiv Ihrer Daten, oder ein Teil davon fehlt.',
  failed: 'Das ließ sich nicht lesen.',
  unlock: 'Verschlüsseltes öffnen',
  unlockIntro:
    'Ihre Nachrichten sind verschlüsselt. Geben Sie Ihre Passphrase ein, oder den Wiederherstellungscode, den Sie mit ihr bekommen haben.',
  secret: 'Passphrase oder Wiederherstellungscode',
  open: 'Öffnen',
  opening: 'Wird geöffnet …',
  wrongSecret: 'Das ist weder die Passphrase noch der Wiederherstellungscode dieses Kontos.',
  parts: 'Teile des Archivs',
  conversations: 'Chats',
  shared: 'Geteilte Chats',
  sharedCopy: 'Das ist die Kopie, zu der der Link führt. Sie ändert sich nicht mit ihrem Chat.',
  rooms: 'Räume',
  files: 'Dateien',
  everything: 'Alles',
  none: 'Hier ist nichts.',
  self: 'Sie',
  model: 'Modell',
  instructions: 'Anweisungen für das Modell',
  locked: 'Für diese Nachricht gibt es keinen Schlüssel.',
  back: 'Zurück zur Liste',
  save: 'Speichern',
  saveFile: ':name speichern',
  damaged: 'Diese Datei war beschädigt und ist nicht vollständig.',
  ownOnly: 'Was Sie in diesem Raum geschrieben haben, und Ihre Reaktionen. Was andere geschrieben haben, gehört ihnen.',
  reacted: 'Reaktion auf eine Nachricht von jemand anderem',
  reactedToOwn: 'Reaktion auf Ihre Nachricht',
  rows: 'Einträge: :count',
  more: 'Mehr anzeigen',
}

export const locale = navigator.language.startsWith('de') ? 'de' : 'en'

export const texts = { de, en }[locale]

/** Fills the placeholders of a text. */
export const fillText = (text: string, values: Record<string, string | number>) =>
  text.replace(/:(\w+)/g, (whole, name: string) => String(values[name] ?? whole))

const momentFormat = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })

/** Formats a time; returns an empty text for what is none, as other programs may have written a shared copy. */
export function formatMoment(at: string): string {
  const moment = new Date(at)
  return Number.isNaN(moment.getTime()) ? '' : momentFormat.format(moment)
}

const sizeFormat = new Intl.NumberFormat(locale, { style: 'unit', unit: 'kilobyte', maximumFractionDigits: 0 })

export const formatSize = (bytes: number) => sizeFormat.format(Math.ceil(bytes / 1000))
