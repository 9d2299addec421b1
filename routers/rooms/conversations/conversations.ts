import { randomInt } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { listFilesOfConversations } from '../../../entities/rooms/attachment.sql.ts'
import {
  type ConversationFolder,
  type ConversationRow,
  countOrganized,
  deleteConversations,
  findChatSettings,
  findConversation,
  insertConversation,
  type LockedConversation,
  listConversationFolders,
  listConversations,
  lockConversation,
  lockDiscarded,
  measureConversations,
  organizeConversations,
  renameConversationFolder,
  updateChatSettings,
  updateConversation,
} from '../../../entities/rooms/conversation.sql.ts'
import { listCopiesOfConversations } from '../../../entities/rooms/shared-link.sql.ts'
import type { ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { createQuotaProblem, Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { sealedText } from '../message-content.ts'
import { roomText } from '../rooms.ts'

export const slug = z.string().min(1).max(100).describe('The name of the conversation in addresses.')

export const createUnknownConversationProblem = () =>
  new Problem('not_found', { detail: 'There is no such conversation.' })

/** Reads a conversation of the caller; those of others are not found. */
export async function readConversation(ctx: Context, slug: string): Promise<ConversationRow> {
  const [found] = await ctx.services.sql(findConversation, [slug, toViewer(ctx).viewer])
  if (!found) throw createUnknownConversationProblem()
  return found
}

/** Locks the caller and then the conversation, so that two requests cannot exceed a quota together. */
export async function lockOwnConversation(ctx: Context, em: EntityManager, slug: string): Promise<LockedConversation> {
  const [locked] = await runStatement(em, lockConversation, [slug, toViewer(ctx).viewer])
  if (!locked) throw createUnknownConversationProblem()
  return locked
}

/** Throws if the caller, who is locked, would exceed a quota. Somebody above the quota may still reduce the usage. */
export async function assertWithinQuota(ctx: Context, em: EntityManager, growth: { bytes: number; conversations?: 1 }) {
  const { perPerson, bytesPerPerson } = ctx.services.settings.conversations
  const [usage] = await runStatement(em, measureConversations, [toViewer(ctx).viewer])
  const { count = 0, bytes = 0 } = usage ?? {}
  if (growth.conversations && count >= perPerson)
    throw createQuotaProblem(`A person has at most ${perPerson} conversations.`)
  if (growth.bytes > 0 && bytes + growth.bytes > bytesPerPerson)
    throw createQuotaProblem(`The conversations of a person take at most ${bytesPerPerson} bytes.`)
}

/** Throws if a conversation would have too many messages. */
export function assertMessageCount(ctx: Context, count: number): void {
  const { messages: maxMessages } = ctx.services.settings.conversations
  if (count > maxMessages) throw createQuotaProblem(`A conversation has at most ${maxMessages} messages.`)
}

/** Returns the usage and the quotas of the caller. */
export async function readQuota(ctx: Context) {
  const { perPerson, bytesPerPerson, messages, messageSize } = ctx.services.settings.conversations
  const [usage] = await ctx.services.sql(measureConversations, [toViewer(ctx).viewer])
  return {
    conversations: { most: perPerson, kept: usage?.count ?? 0 },
    bytes: { most: bytesPerPerson, kept: usage?.bytes ?? 0 },
    /** Largest number of messages in a conversation. */
    messages,
    /** Largest message, in characters of its ciphertext. */
    messageSize,
  }
}

/** Records a change for the other clients of the caller. */
export function recordConversationChange(
  ctx: Context,
  { changes }: ChangeTransaction,
  verb: 'created' | 'updated' | 'deleted',
  slug: string,
): void {
  changes.add([`user:${toViewer(ctx).viewer}`], verb, 'conversations', slug)
}

export const name = z.string().trim().max(255).describe('The name of the conversation. It is not encrypted.')
/** The most characters of an encrypted name of 120 characters. */
const MAX_SEALED_NAME = 1024
const MAX_SEALED_OPTIONS = 4096
/** The most characters of encrypted settings, for instructions of some thousand characters. */
const MAX_SEALED_SETTINGS = 64 * 1024

const systemPrompt = roomText
  .nullable()
  .describe('The ciphertext of the instructions that the model gets before all messages.')

export const sealedName = sealedText
  .max(MAX_SEALED_NAME)
  .nullable()
  .describe('The ciphertext of a name, `iv|tag|ciphertext`. Front ends that can decrypt it show it in place of `name`.')

const sealedOptions = sealedText
  .max(MAX_SEALED_OPTIONS)
  .nullable()
  .describe('The ciphertext of the parameters for answers, `iv|tag|ciphertext`. Its content is up to front ends.')

export const newConversationInput = z.strictObject({
  name: name.default(''),
  sealedName: sealedName.default(null),
  systemPrompt: systemPrompt.default(null),
  sealedOptions: sealedOptions.default(null),
})

export const conversationChangeInput = z.strictObject({
  slug,
  name: name.min(1).optional().describe('The new name. It replaces an encrypted one.'),
  sealedName: sealedName.optional(),
  systemPrompt: systemPrompt.optional(),
  sealedOptions: sealedOptions.optional(),
})

const SLUG_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const SLUG_LENGTH = 16

export const createSlug = () =>
  Array.from({ length: SLUG_LENGTH }, () => SLUG_ALPHABET[randomInt(SLUG_ALPHABET.length)]).join('')

export async function createConversation(
  ctx: Context,
  { name, sealedName, systemPrompt, sealedOptions }: z.output<typeof newConversationInput>,
): Promise<ConversationRow> {
  const { viewer } = toViewer(ctx)
  const slug = createSlug()
  await withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, lockPerson, [viewer])
    await assertWithinQuota(ctx, em, { conversations: 1, bytes: countBytes(systemPrompt) })
    await runStatement(em, insertConversation, [
      viewer,
      slug,
      name || 'New Chat',
      sealedName,
      systemPrompt,
      sealedOptions,
    ])
    recordConversationChange(ctx, { em, changes }, 'created', slug)
  })
  return readConversation(ctx, slug)
}

/** Changes the given members, and keeps the rest. */
export async function changeConversation(
  ctx: Context,
  { slug, systemPrompt, sealedOptions, ...names }: z.output<typeof conversationChangeInput>,
): Promise<ConversationRow> {
  await withChangeLog(ctx, async (em, log) => {
    const { id, promptBytes } = await lockOwnConversation(ctx, em, slug)
    // Programs that cannot encrypt rename in clear text.
    const { name, sealedName = name === undefined ? undefined : null } = names
    if (sealedName === undefined && systemPrompt === undefined && sealedOptions === undefined) return
    if (systemPrompt !== undefined) await assertWithinQuota(ctx, em, { bytes: countBytes(systemPrompt) - promptBytes })
    const changes = [sealedName, systemPrompt, sealedOptions].flatMap((value) => [value !== undefined, value])
    await runStatement(em, updateConversation, [id, name, ...changes])
    recordConversationChange(ctx, { em, changes: log }, 'updated', slug)
  })
  return readConversation(ctx, slug)
}

export const chatSettingsInput = z.strictObject({
  sealed: sealedText
    .max(MAX_SEALED_SETTINGS)
    .nullable()
    .describe(
      'The ciphertext of the settings, `iv|tag|ciphertext`; null removes them. Their content is up to front ends.',
    ),
})

/** Returns the settings of the caller for all chats, which only their browser can decrypt. */
export async function readChatSettings(ctx: Context): Promise<{ sealed: string | null }> {
  const [settings] = await ctx.services.sql(findChatSettings, [toViewer(ctx).viewer])
  return { sealed: settings?.sealed ?? null }
}

export async function changeChatSettings(ctx: Context, { sealed }: z.output<typeof chatSettingsInput>) {
  await withChangeLog(ctx, async (em) => {
    await runStatement(em, updateChatSettings, [toViewer(ctx).viewer, sealed])
  })
  return { sealed }
}

/** Deletes a conversation with its messages and their files. */
export async function removeConversation(ctx: Context, slug: string): Promise<{ slug: string }> {
  await withChangeLog(ctx, async (em, changes) => {
    const { id } = await lockOwnConversation(ctx, em, slug)
    await deleteWithFiles({ em, changes }, [id])
    recordConversationChange(ctx, { em, changes }, 'deleted', slug)
  })
  return { slug }
}

/** Deletes conversations with the files of their messages, and with the copies that were shared. */
async function deleteWithFiles({ em, changes }: ChangeTransaction, ids: readonly number[]): Promise<void> {
  const files = await runStatement(em, listFilesOfConversations, [ids])
  changes.dropFiles(files.map(({ uuid }) => uuid))
  const copies = await runStatement(em, listCopiesOfConversations, [ids])
  changes.dropFiles(
    copies.map(({ uuid }) => uuid),
    'sharedCopies',
  )
  await runStatement(em, deleteConversations, [ids])
}

const countBytes = (text: string | null) => Buffer.byteLength(text ?? '')

/** The largest number of folders, and of pinned conversations. */
const MAX_ORGANIZED = 100

const folderName = z.string().trim().min(1).max(120)

export const organizationInput = z.strictObject({
  slug,
  isPinned: z.boolean().optional().describe('True if the conversation is pinned to the top.'),
  folder: folderName
    .nullable()
    .optional()
    .describe('The folder of the conversation; null moves it out of its folder. The name is not encrypted.'),
  isArchived: z.boolean().optional().describe('True if the conversation is in the archive. It keeps pin and folder.'),
})

export const folderChangeInput = z.strictObject({
  name: folderName,
  newName: folderName
    .nullable()
    .describe('The new name of the folder; null removes the folder and keeps its conversations.'),
})

/** Pins or archives a conversation, or moves it to a folder; a folder exists as long as a conversation is in it. */
export async function organizeOwnConversation(
  ctx: Context,
  { slug, ...change }: z.output<typeof organizationInput>,
): Promise<ConversationRow> {
  await withChangeLog(ctx, async (em, changes) => {
    const { id } = await lockOwnConversation(ctx, em, slug)
    await organize(ctx, em, [id], change)
    recordConversationChange(ctx, { em, changes }, 'updated', slug)
  })
  return readConversation(ctx, slug)
}

/** Organizes locked conversations, as far as the quotas of the caller allow it. */
export async function organize(
  ctx: Context,
  em: EntityManager,
  ids: readonly number[],
  { isPinned, folder, isArchived }: Omit<z.output<typeof organizationInput>, 'slug'>,
): Promise<void> {
  await runStatement(em, organizeConversations, [ids, isPinned, folder !== undefined, folder, isArchived])
  const [usage] = await runStatement(em, countOrganized, [toViewer(ctx).viewer])
  const { folders = 0, pinned = 0 } = usage ?? {}
  if (isPinned && pinned > MAX_ORGANIZED)
    throw createQuotaProblem(`A person pins at most ${MAX_ORGANIZED} conversations.`)
  if (folder && folders > MAX_ORGANIZED) throw createQuotaProblem(`A person has at most ${MAX_ORGANIZED} folders.`)
}

export const listFolders = (ctx: Context): Promise<ConversationFolder[]> =>
  ctx.services.sql(listConversationFolders, [toViewer(ctx).viewer])

/** Renames a folder; the new name may be that of another one. */
export async function changeFolder(
  ctx: Context,
  { name, newName }: z.output<typeof folderChangeInput>,
): Promise<ConversationFolder[]> {
  await withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, lockPerson, [toViewer(ctx).viewer])
    const changed = await runStatement(em, renameConversationFolder, [toViewer(ctx).viewer, name, newName])
    if (changed.length === 0) throw new Problem('not_found', { detail: 'There is no such folder.' })
    // Nobody sees discarded conversations, but they return to the folder when they are restored.
    for (const { slug } of changed.filter(({ isDiscarded }) => !isDiscarded))
      recordConversationChange(ctx, { em, changes }, 'updated', slug)
  })
  return listFolders(ctx)
}

/** A page of a list. `next` is the cursor of the following page, or null after the last one. */
export interface CursorPage<T> {
  data: T[]
  meta: { next: string | null }
}

const MAX_CONVERSATIONS = 200

export const listInput = z
  .strictObject({
    page: z
      .strictObject({
        size: z.coerce.number().int().min(1).max(MAX_CONVERSATIONS).default(50),
        after: z
          .string()
          .regex(/^\d{1,15}-\d{1,10}$/, { error: 'must be the `next` of an answer' })
          .optional(),
      })
      .prefault({}),
    isPinned: z.boolean().optional().describe('True lists only pinned conversations, false only the others.'),
    folder: folderName.nullable().optional().describe('The folder to list; null lists conversations in no folder.'),
    isArchived: z.boolean().optional().describe('True lists only the archive, false only what is outside of it.'),
    name: z.string().trim().min(1).max(120).optional().describe('The text that names must contain.'),
  })
  .prefault({})

const [MAX_TIME, MAX_ID] = [8e15, 2_147_483_647]

/** Returns a LIKE pattern for texts that contain this one, whose wildcards are escaped. */
export const toLikePattern = (name: string) => `%${name.replace(/[\\%_]/g, '\\$&')}%`

/** Lists the conversations of the caller, the last changed first. */
export async function listOwnConversations(
  ctx: Context,
  { page: { size, after }, isPinned, folder, isArchived, name }: z.output<typeof listInput>,
): Promise<CursorPage<ConversationRow>> {
  const [time = MAX_TIME, id = MAX_ID] = after?.split('-').map(Number) ?? []
  const rows = await ctx.services.sql(listConversations, [
    toViewer(ctx).viewer,
    time,
    Math.min(id, MAX_ID),
    size + 1,
    isPinned,
    folder,
    name === undefined ? undefined : toLikePattern(name),
    folder === null,
    isArchived,
  ])
  const data = rows.slice(0, size)
  const last = rows.length > size ? data.at(-1) : undefined
  return { data, meta: { next: last ? `${Date.parse(last.updatedAt)}-${last.id}` : null } }
}

/** Seconds in which a discarded conversation can be restored; front ends offer less. */
const RESTORABLE_SECONDS = 60
/** Conversations that are deleted in one transaction. */
const BATCH_SIZE = 100

/** Deletes conversations that can no longer be restored, with their messages and files. */
export async function deleteDiscardedConversations(ctx: Context): Promise<{ deleted: number }> {
  let deleted = 0
  for (;;) {
    const count = await withChangeLog(ctx, async (em, changes) => {
      const found = await runStatement(em, lockDiscarded, [RESTORABLE_SECONDS, BATCH_SIZE])
      const ids = found.map(({ id }) => id)
      await deleteWithFiles({ em, changes }, ids)
      return found.length
    })
    deleted += count
    if (count < BATCH_SIZE) return { deleted }
  }
}
