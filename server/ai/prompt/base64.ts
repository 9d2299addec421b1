/** How many characters so many bytes are, three of which are four. */
export const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4

/** Bytes in base64 as they come. Throws where they are not as many as they were said to be. */
export async function* inBase64(content: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer, void> {
  let [rest, read]: [Buffer, number] = [Buffer.alloc(0), 0]
  for await (const part of content) {
    read += part.length
    if (read > bytes) break
    const all = rest.length > 0 ? Buffer.concat([rest, part]) : part
    const whole = all.length - (all.length % 3)
    rest = all.subarray(whole)
    if (whole > 0) yield encoded(all.subarray(0, whole))
  }
  if (read !== bytes) throw new Error('a stored file has not the size that it was written with')
  if (rest.length > 0) yield encoded(rest)
}

const encoded = (bytes: Buffer) => Buffer.from(bytes.toString('base64'), 'latin1')
