import { createCipheriv, randomBytes } from 'node:crypto'
import { textOf, type WholeAnswer } from '../../ai/answer.ts'
import { Problem } from '../../core/problems.ts'
import { MAX_CONTENT } from '../message-content.ts'

const IV = 12

/** An answer with its sources, encrypted as a browser would: `iv|tag|ciphertext`, each in base64. */
export function sealAnswer(key: Buffer, answer: WholeAnswer): string {
  const iv = randomBytes(IV)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const ciphertext = Buffer.concat([cipher.update(JSON.stringify(contentOf(answer)), 'utf8'), cipher.final()])
  const sealed = [iv, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64')).join('|')
  if (sealed.length > MAX_CONTENT) throw new Problem('too_large')
  return sealed
}

function contentOf(answer: WholeAnswer) {
  const citations = answer.content.flatMap((part) =>
    part.type === 'source' ? [{ url: part.url, title: part.title }] : [],
  )
  return { text: textOf(answer), ...(citations.length > 0 && { citations }) }
}
