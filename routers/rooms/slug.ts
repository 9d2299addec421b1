import { randomInt } from 'node:crypto'

const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const RANDOM_SIGNS = 10
/** A sign of a name may stand for several letters. */
const MAX_WORDS = 120

/** `Chess & Go` gives `chess-go-` and random signs: the slug stays when the room gets another name. */
export function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  const random = Array.from({ length: RANDOM_SIGNS }, () => signs[randomInt(signs.length)]).join('')
  return `${(words ?? []).join('-').slice(0, MAX_WORDS)}-${random}`
}
