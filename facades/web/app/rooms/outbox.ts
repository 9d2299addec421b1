import { openMessage, type RoomKeys, sealMessage } from '../../browser/crypto.ts'

/** Messages that wait at most. */
export const MAX_WAITING = 50

/** A message that is still to be sent, sealed as it will be stored. */
export interface Letter {
  clientId: string
  content: string | null
  keyEpoch: number
  thread: string | null
  /** Ids of files that were uploaded for it. */
  attachments: string[]
  writtenAt: string
}

/** The messages of a room that wait to be sent. They lie sealed in this browser, so that a reload loses none. */
export class Outbox {
  readonly #slot: string

  constructor(owner: string, room: string) {
    this.#slot = `svc:outbox:${owner}:${room}`
  }

  /** In the order in which they were written; another tab may have added some. */
  list(): Letter[] {
    return JSON.parse(localStorage.getItem(this.#slot) ?? '[]') as Letter[]
  }

  put(letter: Letter): void {
    const others = this.list()
    const at = others.findIndex(({ clientId }) => clientId === letter.clientId)
    this.#write(at === -1 ? [...others, letter] : others.with(at, letter))
  }

  remove(clientId: string): void {
    this.#write(this.list().filter((each) => each.clientId !== clientId))
  }

  #write(letters: readonly Letter[]): void {
    if (letters.length === 0) localStorage.removeItem(this.#slot)
    else localStorage.setItem(this.#slot, JSON.stringify(letters))
  }
}

/** The same message, sealed with the key that is in use now. */
export async function resealLetter(letter: Letter, keys: RoomKeys, keyEpoch: number): Promise<Letter> {
  const [before, now] = [keys.get(letter.keyEpoch), keys.get(keyEpoch)]
  if (letter.keyEpoch === keyEpoch || letter.content === null || before === undefined || now === undefined)
    return letter
  return { ...letter, keyEpoch, content: await sealMessage(now, await openMessage(before, letter.content)) }
}
