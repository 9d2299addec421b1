import { SvcError } from '../../../../client/index.ts'
import { api } from '../../shared/api/client.ts'
import { InputError } from '../../shared/api/error-text.ts'
import type { ConversationKey } from '../../shared/conversation-key.ts'
import { forgetUnfinished, isUnfinished, keepUnfinished, type LinkVisit } from '../../shared/link-visit.ts'
import { openCopy, type SharedCopy, type SharedFile, WrongLinkKey } from '../../shared/shared-copy.ts'
import { t } from '../../shared/text/labels.ts'
import { uploadFile } from '../../shared/upload-file.ts'
import { refreshConversations } from '../conversations.ts'
import { type ImportLoss, storeConversation } from '../import/conversation-import.ts'
import { type ImportedConversation, toTime } from '../import/imported-conversation.ts'
import { writeNumber } from '../message-content.ts'

/** The longest id of a model that is stored. */
const MAX_MODEL = 255

/** Makes a chat of the person's own from what a link leads to. The same copy is stored once. */
export async function continueLink(
  { id, key: linkKey }: LinkVisit,
  key: ConversationKey,
): Promise<{ slug: string; hasAllFiles: boolean }> {
  const copy = await readCopy(id, linkKey)
  const { outcome, slug, losses } = await storeConversation(
    toConversation(id, copy),
    key,
    await api.conversations.quota.query(),
  )
  if (slug === undefined) throw new InputError(describeLoss(losses[0]))
  const isWhole = outcome === 'known' && !isUnfinished(slug)
  const hasAllFiles = isWhole || (await completeCopy(slug, copy, key))
  await refreshConversations()
  return { slug, hasAllFiles }
}

const describeLoss = (loss: ImportLoss | undefined): string =>
  loss?.kind === 'tooMany' ? t('app.import.problem.tooMany', { ...loss }) : t('app.share.empty')

async function readCopy(id: string, linkKey: string): Promise<SharedCopy> {
  const response = await fetch(`/s/${id}/copy`).catch((cause: unknown) => {
    throw new SvcError(cause)
  })
  if (response.status === 404) throw new InputError(t('app.share.gone'))
  if (!response.ok) throw new InputError(t(response.status === 429 ? 'page.shared.tooMany' : 'page.error'))
  return openCopy(await response.blob(), linkKey).catch((error: unknown) => {
    throw error instanceof WrongLinkKey ? new InputError(t('page.shared.incompleteText')) : error
  })
}

/** A copy that its owner has updated since is another conversation. */
function toConversation(id: string, { title, sharedAt, messages }: SharedCopy): ImportedConversation {
  const at = new Date(toTime(sharedAt) || Date.now()).toISOString()
  return {
    id: `shared:${id}:${sharedAt}`,
    title,
    createdAt: at,
    updatedAt: new Date().toISOString(),
    messages: messages.map(({ role, model, modelLabel, answer, createdAt }, index) => ({
      role,
      model: role === 'user' ? null : (model || modelLabel || '?').slice(0, MAX_MODEL),
      answer,
      parent: index,
      createdAt: new Date(toTime(createdAt) || Date.now()).toISOString(),
    })),
    unreadable: 0,
    files: 0,
  }
}

/**
 * Stores the rest of a copy, or deletes the part that there is. A page that is closed cannot do so, so the tab remembers
 * the chat: the next attempt must not take a part for the whole.
 */
async function completeCopy(slug: string, copy: SharedCopy, key: ConversationKey): Promise<boolean> {
  keepUnfinished(slug)
  try {
    const hasAllFiles = await copyRest(slug, copy, key)
    forgetUnfinished()
    return hasAllFiles
  } catch (error) {
    await api.conversations.discard.mutate({ slug }).catch(() => {})
    throw error
  }
}

/** Stores the instructions and the files of a copy. Resolves with false if a file was refused. */
async function copyRest(slug: string, { instructions, messages }: SharedCopy, key: ConversationKey): Promise<boolean> {
  if (instructions !== '') await api.conversations.update.mutate({ slug, systemPrompt: await key.seal(instructions) })
  let hasAllFiles = true
  for (const [index, { files }] of messages.entries()) {
    if (files.length === 0) continue
    const ids = await uploadAll(files)
    hasAllFiles &&= ids.length === files.length
    if (ids.length > 0)
      await api.conversations.updateMessage.mutate({ slug, number: writeNumber(index + 1), attachments: ids })
  }
  return hasAllFiles
}

async function uploadAll(files: readonly SharedFile[]): Promise<string[]> {
  const ids: string[] = []
  for (const { name, mime, content } of files) {
    const { id } = await uploadFile(new File([content], name, { type: mime }))
    if (id !== undefined) ids.push(id)
  }
  return ids
}
