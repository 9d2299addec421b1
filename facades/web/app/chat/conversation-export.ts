import type { Conversation } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { saveFile } from '../shared/save-file.ts'
import { t } from '../shared/text/labels.ts'
import { buildPath } from './branches.ts'
import { type OpenedMessage, writeNumber } from './message-content.ts'
import { readAllMessages } from './messages.ts'

const PAGE_SIZE = 200

/** Decrypts a conversation in the browser and saves it as a file. */
export async function exportConversation(key: ConversationKey, conversation: Conversation, kind: 'md' | 'json') {
  const messages = await readAllMessages(key, conversation.slug, PAGE_SIZE)
  const text = kind === 'md' ? toMarkdown(conversation, messages) : toJson(conversation, messages)
  const name = conversation.name.replace(/[^\p{L}\p{N} .-]+/gu, '_').slice(0, 80)
  const type = kind === 'md' ? 'text/markdown' : 'application/json'
  saveFile(new Blob([text], { type }), `${name}.${kind}`)
}

/** Writes the shown versions of all messages as Markdown. */
function toMarkdown({ name }: Conversation, messages: readonly OpenedMessage[]): string {
  const parts = buildPath(messages, {}).map(({ message: { role, model, answer, attachments } }) => {
    const heading = `## ${role === 'user' ? t('app.message.you') : model}`
    const files = attachments.map((file) => `- ${file.name}`)
    const sources = answer.citations.map(({ url, title }, index) => `${index + 1}. [${title ?? url}](${url})`)
    return [heading, answer.text, files.join('\n'), sources.join('\n')].filter((part) => part !== '').join('\n\n')
  })
  return `# ${name}\n\n${parts.join('\n\n')}\n`
}

/** Writes all versions of all messages as JSON. */
function toJson({ name, createdAt }: Conversation, messages: readonly OpenedMessage[]): string {
  const all = messages.map(({ number, parent, role, model, answer, attachments, createdAt }) => {
    const files = attachments.map((file) => file.name)
    return { number: writeNumber(number), parent, role, model, ...answer, files, createdAt }
  })
  return JSON.stringify({ name, createdAt, messages: all }, null, 2)
}
