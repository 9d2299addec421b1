import { queryClient } from '../../shared/api/client.ts'
import { InputError } from '../../shared/api/error-text.ts'
import type { Answer } from '../../shared/conversation/answer.ts'
import type { ConversationKey } from '../../shared/conversation-key.ts'
import { findModel } from '../../shared/models/models.ts'
import type { ShareOptions } from '../../shared/own-links.ts'
import { type SharedCopy, type SharedFile, type SharedMessage, toSharedAnswer } from '../../shared/shared-copy.ts'
import { t } from '../../shared/text/labels.ts'
import { downloadFile } from '../../shared/upload-file.ts'
import { buildPath } from '../branches.ts'
import { buildConversationQuery } from '../conversations.ts'
import type { OpenedMessage } from '../message-content.ts'
import { readAllMessages } from '../messages.ts'
import { isSummary } from '../sent-history.ts'
import { readShownBranch } from '../shown-branch.ts'
import { readSystemPrompt } from '../system-prompt.ts'

const PAGE_SIZE = 200

/** Copies the branch of a chat that is shown, with all of its messages. */
export async function copyBranch(key: ConversationKey, slug: string, options: ShareOptions): Promise<SharedCopy> {
  const [{ name }, messages] = await Promise.all([
    queryClient.fetchQuery(buildConversationQuery(key, slug)),
    readAllMessages(key, slug, PAGE_SIZE),
  ])
  const path = buildPath(messages, readShownBranch(slug)?.number).map(({ message }) => message)
  // A summary stands for messages that are all in the copy.
  const shared = path.filter((message) => !isSummary(message) && !message.isUnreadable)
  if (shared.length === 0) throw new InputError(t('app.share.empty'))
  const copied: SharedMessage[] = []
  for (const message of shared) copied.push(await copyMessage(message, options))
  return {
    title: name,
    sharedAt: new Date().toISOString(),
    instructions: options.instructions ? await readSystemPrompt(key, slug) : '',
    messages: copied,
  }
}

async function copyMessage(message: OpenedMessage, options: ShareOptions): Promise<SharedMessage> {
  const { role, model, answer, attachments, createdAt } = message
  const files: SharedFile[] = []
  if (options.files)
    for (const file of attachments) files.push({ name: file.name, mime: file.mime, content: await downloadFile(file) })
  return {
    role,
    model,
    modelLabel: model === null ? '' : (findModel(model)?.label ?? model),
    answer: copyAnswer(answer, options),
    files,
    omittedFiles: options.files ? 0 : attachments.length,
    createdAt,
  }
}

function copyAnswer(answer: Answer, options: ShareOptions): Answer {
  const shared = toSharedAnswer(answer)
  if (options.tools) return shared
  return { ...shared, tools: shared.tools.map(({ input: _input, output: _output, ...tool }) => tool) }
}
