import type { Conversation } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { stripMarkdown } from '../shared/text/excerpt.ts'
import { language } from '../shared/text/labels.ts'

/** The most characters of a name that is made of a question. */
const MAX_LENGTH = 60

const words = new Intl.Segmenter(language, { granularity: 'word' })

/** Returns the first words of a question, without what it quotes; empty if it has none. */
export function nameByFirstWords(question: string): string {
  const own = question.replace(/^[ \t]*>.*$/gm, '')
  const line = stripMarkdown(own.trim() === '' ? question : own).trim()
  if (line.length <= MAX_LENGTH) return line
  let end = 0
  for (const { index, segment } of words.segment(line))
    if (index + segment.length <= MAX_LENGTH) end = index + segment.length
  const start =
    end === 0
      ? Array.from(line)
          .slice(0, MAX_LENGTH / 2)
          .join('')
      : line.slice(0, end)
  return `${start.trim()}…`
}

/** Decrypts the name of a conversation. The other name, which is not encrypted, stands for one that can't be opened. */
export async function openName(key: ConversationKey, conversation: Conversation): Promise<Conversation> {
  const { sealedName, name } = conversation
  if (sealedName === null) return conversation
  return { ...conversation, name: await key.open(sealedName).catch(() => name) }
}
