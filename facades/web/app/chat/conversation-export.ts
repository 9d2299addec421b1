import type { Conversation } from '../shared/api/client.ts'
import { InputError, isNotFound } from '../shared/api/error-text.ts'
import type { Answer } from '../shared/conversation/answer.ts'
import { splitAnswer } from '../shared/conversation/answer-segments.ts'
import { describeTool } from '../shared/conversation/tool-steps.tsx'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { saveFile } from '../shared/save-file.ts'
import { formatNames } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { buildPath } from './branches.ts'
import { type OpenedMessage, writeNumber } from './message-content.ts'
import { readAllMessages } from './messages.ts'
import { readShownBranch } from './shown-branch.ts'

const PAGE_SIZE = 200

export type ExportKind = 'md' | 'json'

/** Decrypts a conversation in the browser and saves it as a file. */
export async function exportConversation(key: ConversationKey, conversation: Conversation, kind: ExportKind) {
  const { name, content } = await writeConversation(key, conversation, kind)
  saveFile(content, `${name}.${kind}`)
}

/** The conversations that are read at once. */
const READ_AT_ONCE = 4

/**
 * Decrypts conversations, a few at once, and saves them in an archive; reports how many there are already. Those that are
 * gone are left out, and the error that names them is thrown at the end.
 */
export async function exportConversations(
  key: ConversationKey,
  conversations: readonly Conversation[],
  kind: ExportKind,
  report: (count: number) => void,
): Promise<void> {
  const { BlobReader, BlobWriter, ZipWriter } = await import('@zip.js/zip.js/lib/zip-core-custom.js')
  const zip = new ZipWriter(new BlobWriter('application/zip'))
  let count = 0
  report(count)
  const goneNames: string[] = []
  const write = (conversation: Conversation) =>
    writeConversation(key, conversation, kind).catch((error: unknown) => {
      if (!isNotFound(error)) throw error
      goneNames.push(conversation.name)
    })
  for await (const file of readAhead(conversations, READ_AT_ONCE, write)) {
    if (!file) continue
    count++
    // Several conversations may have the same name.
    await zip.add(`${count} ${file.name}.${kind}`, new BlobReader(file.content))
    report(count)
  }
  const archive = await zip.close()
  if (count > 0) saveFile(archive, `${t('app.chats')}.zip`)
  if (goneNames.length > 0) throw new InputError(t('app.export.missing', { names: formatNames(goneNames) }))
}

/** Yields the results in order, while at most so many more are on their way. */
async function* readAhead<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const results: Promise<Result>[] = []
  for (const item of items) {
    const result = read(item)
    // An error is thrown where the result is awaited, unless an earlier one ends the loop.
    result.catch(() => {})
    results.push(result)
    if (results.length === atOnce) yield results.shift() as Promise<Result>
  }
  yield* results
}

async function writeConversation(key: ConversationKey, conversation: Conversation, kind: ExportKind) {
  const messages = await readAllMessages(key, conversation.slug, PAGE_SIZE)
  const text = kind === 'md' ? toMarkdown(conversation, messages) : toJson(conversation, messages)
  const name = conversation.name.replace(/[^\p{L}\p{N} .-]+/gu, '_').slice(0, 80)
  const type = kind === 'md' ? 'text/markdown' : 'application/json'
  return { name, content: new Blob([text], { type }) }
}

/** Returns the messages of the branch that is shown, or was shown last. */
const findShownPath = (slug: string, messages: readonly OpenedMessage[]) =>
  buildPath(messages, readShownBranch(slug)?.number)

/** Writes the branch that is shown as Markdown. */
function toMarkdown({ slug, name }: Conversation, messages: readonly OpenedMessage[]): string {
  const parts = findShownPath(slug, messages).map(({ message }) => {
    const { answer, attachments, isUnreadable } = message
    const heading = `## ${nameAuthor(message)}`
    const files = attachments.map((file) => `- ${file.name}`)
    const sources = answer.citations.map(
      ({ url, title, passage }, index) => `${passage?.number ?? index + 1}. [${title ?? url}](${url})`,
    )
    const text = isUnreadable ? `*${t('app.message.unreadable')}*` : writeAnswer(answer)
    return [heading, text, files.join('\n'), sources.join('\n')].filter((part) => part !== '').join('\n\n')
  })
  return `# ${name}\n\n${parts.join('\n\n')}\n`
}

function nameAuthor({ role, model, answer: { summary } }: OpenedMessage): string {
  if (summary) return t('app.summary.title', { count: summary.replaced })
  return role === 'user' ? t('app.message.you') : (model ?? '')
}

/** Writes the text and the tool calls of an answer in their order. */
const writeAnswer = (answer: Answer): string =>
  splitAnswer(answer)
    .flatMap(({ tools, text }) => [...tools.map((tool) => `> ${describeTool(tool)}`), text.trim()])
    .filter((part) => part !== '')
    .join('\n\n')

/** Writes all versions of all messages as JSON, from which `import/svc-export.ts` reads the conversation again. */
function toJson({ slug, name, createdAt }: Conversation, messages: readonly OpenedMessage[]): string {
  const all = messages.map(({ number, answer, isUnreadable, attachments, ...message }) => {
    const { parent, role, model, createdAt, isComplete } = message
    const files = attachments.map((file) => file.name)
    const content = isUnreadable ? { isUnreadable } : answer
    return { number: writeNumber(number), parent, role, model, ...content, files, createdAt, isComplete }
  })
  const end = findShownPath(slug, messages).at(-1)
  const shown = end ? writeNumber(end.message.number) : null
  return JSON.stringify({ slug, name, createdAt, shown, messages: all }, null, 2)
}
