import { createCipheriv, randomBytes } from 'node:crypto'
import { Problem } from '../../core/problems.ts'
import { MAX_CONTENT } from '../message-content.ts'
import type { RoomAnswer } from './room-answer.ts'

const IV = 12

/** An answer with its sources, encrypted as a browser would: `iv|tag|ciphertext`, each in base64. */
export function sealAnswer(key: Buffer, { text, citations }: Pick<RoomAnswer, 'text' | 'citations'>): string {
  const iv = randomBytes(IV)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const content = JSON.stringify({ text, ...(citations.length > 0 && { citations }) })
  const ciphertext = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()])
  const sealed = [iv, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64')).join('|')
  if (sealed.length > MAX_CONTENT) throw new Problem('too_large')
  return sealed
}
