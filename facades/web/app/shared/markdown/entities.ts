import { decodeHTMLStrict } from 'entities'

/** Returns the character of a name in HTML, without `&` and `;`; undefined for an unknown name. */
export function findNamedCharacter(name: string): string | undefined {
  const source = `&${name};`
  const decoded = decodeHTMLStrict(source)
  return decoded === source ? undefined : decoded
}
