/** Writes a text in an encoding that Node.js only reads: every character is looked for among all that one or two bytes mean. */
export function encodeText(text: string, encoding: string): Buffer {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const known = new Map<string, number[]>()
  const learn = (...bytes: number[]) => {
    try {
      const character = decoder.decode(Uint8Array.from(bytes))
      if (!known.has(character)) known.set(character, bytes)
    } catch {
      // These bytes mean nothing.
    }
  }
  const all = Array.from({ length: 256 }, (_, byte) => byte)
  for (const byte of all) learn(byte)
  if ([...text].some((character) => !known.has(character)))
    for (const first of all.slice(0x81)) for (const second of all.slice(0x40)) learn(first, second)
  return Buffer.from([...text].flatMap((character) => known.get(character) ?? []))
}
