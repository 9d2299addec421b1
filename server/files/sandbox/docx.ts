import mammoth from 'mammoth'
import type { Collector } from './collector.ts'
import { guardContainer, refuseDocument } from './container.ts'

export async function readDocx(bytes: Buffer, text: Collector): Promise<void> {
  await guardContainer(bytes)
  const { value } = await mammoth.extractRawText({ buffer: bytes }).catch(refuseDocument)
  text.add(value)
}
