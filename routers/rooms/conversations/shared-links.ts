import { randomBytes } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import {
  changeLink,
  deleteEndedLinks,
  deleteLinksOfOwner,
  deleteOwnLink,
  dropEndedCopies,
  endLinkOfAnybody,
  findOwnLink,
  insertLink,
  listOwnLinks,
  lockOwnLink,
  measureLinks,
  type OwnLink,
  storeCopy,
} from '../../../entities/rooms/shared-link.sql.ts'
import { linkAudiences } from '../../../entities/rooms/shared-link.ts'
import type { ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { Erasure } from '../../core/hooks.ts'
import { withUploadTimeout } from '../../core/incoming-file.ts'
import { createQuotaProblem, Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import type { SharedLinkSettings } from '../../core/settings.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { sealedText } from '../message-content.ts'
import { lockOwnConversation, slug } from './conversations.ts'

/** An address is 128 random bits, so that nobody finds one by guessing. */
const ADDRESS_BYTES = 16

export const linkId = z.string().regex(/^[\w-]{22}$/, { error: 'must be the part of a link before the #' })

export const linkSelector = z.strictObject({ id: linkId })

const audience = z.enum(linkAudiences).describe('The people who may read it: who is signed in, groups, or everybody.')
const groups = z
  .array(z.string().trim().min(1).max(255))
  .max(50)
  .describe('The groups of the caller whose members may read it, if these are the readers.')
const days = z.int().min(1).max(3650).describe('The days until it ends.')

/** The most characters of the ciphertext of a key. */
const MAX_SEALED_KEY = 256

export const newLinkInput = z
  .strictObject({
    slug,
    sealedKey: sealedText
      .max(MAX_SEALED_KEY)
      .describe('The ciphertext of the key in the address, which only the browser of the caller can open.'),
    audience: audience.default('people'),
    groups: groups.default([]),
    days,
  })
  .refine(hasGroups, { path: ['groups'], error: 'must name a group' })

export const linkChangeInput = z
  .strictObject({ id: linkId, audience: audience.optional(), groups: groups.optional(), days: days.optional() })
  .refine(hasGroups, { path: ['groups'], error: 'must name a group' })

function hasGroups({ audience, groups }: { audience?: string | undefined; groups?: readonly string[] | undefined }) {
  return audience !== 'groups' || (groups ?? []).length > 0
}

/** The same for a link of somebody else and for one that never was. */
export const createUnknownLinkProblem = () => new Problem('not_found', { detail: 'There is no such link.' })

/** The rules for links as the caller's browser needs them. */
export function readRules({ services, callerContext: { current } }: Context) {
  const { maxDays, maxBytes } = services.settings.sharedLinks
  const own = current.type === 'user' ? current.person.groups : []
  return {
    mayShare: mayShare(services.settings.sharedLinks, own),
    maySharePublicly: mayShare(services.settings.sharedLinks, own) && mayOpen(services.settings.sharedLinks, own),
    groups: [...own],
    maxDays,
    maxBytes,
  }
}

const isMember = (own: readonly string[], allowed: readonly string[]) =>
  allowed.length === 0 || own.some((group) => allowed.includes(group))

const mayShare = ({ readers, groups }: SharedLinkSettings, own: readonly string[]) =>
  readers !== 'off' && isMember(own, groups)

const mayOpen = ({ readers, openGroups }: SharedLinkSettings, own: readonly string[]) =>
  readers === 'everybody' && isMember(own, openGroups)

interface LinkRules {
  audience?: (typeof linkAudiences)[number] | undefined
  groups?: readonly string[] | undefined
  days?: number | undefined
}

/** Throws if the caller may not share with these people, or for so long. */
function assertMayShare(ctx: Context, { audience, groups = [], days = 1 }: LinkRules): void {
  const rules = readRules(ctx)
  if (!rules.mayShare) throw new Problem('not_permitted', { detail: 'You may not share conversations here.' })
  if (audience === 'everybody' && !rules.maySharePublicly)
    throw new Problem('not_permitted', { detail: 'You may not share with people who are not signed in.' })
  if (days > rules.maxDays) throw createMemberProblem('days', `must be at most ${rules.maxDays}`)
  // A change may name groups without the readers, who stay as they are.
  if (groups.some((group) => !rules.groups.includes(group)))
    throw createMemberProblem('groups', 'must be groups that you are in')
}

const createMemberProblem = (member: string, message: string) =>
  new Problem('invalid', { issues: [{ path: [member], message }] })

/** The ended links that a person sees at most, behind all the others. */
const ENDED_SHOWN = 100

export function listLinks(ctx: Context, slug: string | undefined): Promise<OwnLink[]> {
  const limit = ctx.services.settings.sharedLinks.perPerson + ENDED_SHOWN
  return ctx.services.sql(listOwnLinks, [toViewer(ctx).viewer, slug, limit])
}

async function readLink(ctx: Context, id: string): Promise<OwnLink> {
  const [found] = await ctx.services.sql(findOwnLink, [toViewer(ctx).viewer, id])
  if (!found) throw createUnknownLinkProblem()
  return found
}

/** Creates a link that leads to nothing until its copy is stored. */
export async function createLink(ctx: Context, input: z.output<typeof newLinkInput>): Promise<OwnLink> {
  assertMayShare(ctx, input)
  const { slug, sealedKey, audience, days } = input
  const address = randomBytes(ADDRESS_BYTES).toString('base64url')
  await withChangeLog(ctx, async (em, changes) => {
    const { id } = await lockOwnConversation(ctx, em, slug)
    const { viewer } = toViewer(ctx)
    const { perPerson } = ctx.services.settings.sharedLinks
    const [used] = await runStatement(em, measureLinks, [viewer])
    if ((used?.count ?? 0) >= perPerson) throw createQuotaProblem(`A person has at most ${perPerson} links.`)
    const groups = audience === 'groups' ? input.groups : []
    await runStatement(em, insertLink, [viewer, id, address, sealedKey, audience, groups, days])
    recordLinkChange({ em, changes }, viewer, 'created', address)
  })
  return readLink(ctx, address)
}

/** Changes who may read a link, or renews it. */
export async function changeOwnLink(ctx: Context, input: z.output<typeof linkChangeInput>): Promise<OwnLink> {
  assertMayShare(ctx, input)
  const { id, audience, days } = input
  const groups = audience === undefined || audience === 'groups' ? input.groups : []
  await withChangeLog(ctx, async (em, changes) => {
    const { rowId } = await lockLink(ctx, em, id)
    await runStatement(em, changeLink, [rowId, audience, groups, days])
    recordLinkChange({ em, changes }, toViewer(ctx).viewer, 'updated', id)
  })
  return readLink(ctx, id)
}

/** Stores the sealed copy of a link, in place of the one before it. */
export async function uploadCopy(ctx: Context, id: string): Promise<OwnLink> {
  assertMayShare(ctx, {})
  const { viewer } = toViewer(ctx)
  const { maxBytes } = ctx.services.settings.sharedLinks
  const { sharedCopies: files } = ctx.services.files
  const { file } = ctx
  if (!file) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'is required' }] })
  using _slot = ctx.services.limits.uploads.acquire(`${viewer}`)
  if (file.announced > maxBytes) throw createTooLargeProblem(maxBytes)
  await readLink(ctx, id)
  const stored = await files.write(limitBytes(withUploadTimeout(ctx, file.content), maxBytes))
  try {
    await withChangeLog(ctx, async (em, changes) => {
      const { rowId, uuid, bytes } = await lockLink(ctx, em, id)
      await assertWithinQuota(ctx, em, stored.bytes - (bytes ?? 0))
      await runStatement(em, storeCopy, [rowId, stored.name, stored.bytes, stored.sealedKey])
      if (uuid) changes.dropFiles([uuid], 'sharedCopies')
      recordLinkChange({ em, changes }, viewer, 'updated', id)
    })
  } catch (error) {
    // After a lost connection the row may name it; the cleanup decides then.
    if (error instanceof Problem) await files.remove([stored.name])
    throw error
  }
  return readLink(ctx, id)
}

const createTooLargeProblem = (maxBytes: number) =>
  new Problem('too_large', { detail: `A shared copy has at most ${maxBytes} bytes.` })

async function* limitBytes(content: AsyncIterable<Uint8Array>, maxBytes: number) {
  let bytes = 0
  for await (const part of content) {
    bytes += part.length
    if (bytes > maxBytes) throw createTooLargeProblem(maxBytes)
    yield part
  }
  if (bytes === 0) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'must not be empty' }] })
}

async function assertWithinQuota(ctx: Context, em: EntityManager, growth: number): Promise<void> {
  const { bytesPerPerson } = ctx.services.settings.sharedLinks
  const [used] = await runStatement(em, measureLinks, [toViewer(ctx).viewer])
  if (growth > 0 && (used?.bytes ?? 0) + growth > bytesPerPerson)
    throw createQuotaProblem(`The shared copies of a person take at most ${bytesPerPerson} bytes.`)
}

/**
 * Ends a link at once: each reader is told from then on that there is none. One that has ended is no longer listed to its
 * owner.
 */
export function endOwnLink(ctx: Context, id: string): Promise<{ id: string }> {
  return withChangeLog(ctx, async (em, changes) => {
    const { viewer } = toViewer(ctx)
    await runStatement(em, lockPerson, [viewer])
    const deleted = await runStatement(em, deleteOwnLink, [viewer, id])
    if (deleted.length === 0) throw createUnknownLinkProblem()
    dropCopies({ em, changes }, deleted)
    recordLinkChange({ em, changes }, viewer, 'deleted', id)
    return { id }
  })
}

/** Ends all links of the caller at once. */
export function endOwnLinks(ctx: Context): Promise<{ ended: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    const { viewer } = toViewer(ctx)
    await runStatement(em, lockPerson, [viewer])
    const deleted = await runStatement(em, deleteLinksOfOwner, [viewer])
    dropCopies({ em, changes }, deleted)
    for (const { id } of deleted) recordLinkChange({ em, changes }, viewer, 'deleted', id)
    return { ended: deleted.length }
  })
}

/** Ends a link of anybody, for administrators. Its owner sees that an administrator did so. */
export function endAnyLink(ctx: Context, id: string): Promise<{ id: string }> {
  return withChangeLog(ctx, async (em, changes) => {
    const [ended] = await runStatement(em, endLinkOfAnybody, [id])
    if (!ended) throw createUnknownLinkProblem()
    ctx.auditedCall?.setSubject(`user:${ended.ownerId}`)
    dropCopies({ em, changes }, [ended])
    recordLinkChange({ em, changes }, ended.ownerId, 'updated', id)
    return { id }
  })
}

/** Locks the caller and then their link. */
async function lockLink(ctx: Context, em: EntityManager, id: string) {
  const { viewer } = toViewer(ctx)
  await runStatement(em, lockPerson, [viewer])
  const [locked] = await runStatement(em, lockOwnLink, [viewer, id])
  if (!locked) throw createUnknownLinkProblem()
  return locked
}

function dropCopies({ changes }: ChangeTransaction, deleted: readonly { uuid: string | null }[]): void {
  changes.dropFiles(
    deleted.flatMap(({ uuid }) => uuid ?? []),
    'sharedCopies',
  )
}

function recordLinkChange(
  { changes }: ChangeTransaction,
  owner: number,
  verb: 'created' | 'updated' | 'deleted',
  id: string,
): void {
  changes.add([`user:${owner}`], verb, 'shared-links', id)
}

/** Links that are changed or deleted in one transaction. */
const BATCH_SIZE = 200
/** The days for which owners see that a link has ended. */
const ENDED_DAYS = 30

/**
 * Deletes the copies of links that have ended, and in time the links. Several replicas may do so at once. Resolves with how
 * many there were of each.
 */
export async function deleteEnded(ctx: Context): Promise<{ copies: number; links: number }> {
  const copies = await repeatBatches(ctx, async (em, changes) => {
    const ended = await runStatement(em, dropEndedCopies, [BATCH_SIZE])
    dropCopies({ em, changes }, ended)
    return ended.length
  })
  const links = await repeatBatches(
    ctx,
    async (em) => (await runStatement(em, deleteEndedLinks, [BATCH_SIZE, ENDED_DAYS])).length,
  )
  return { copies, links }
}

/** Runs transactions until one of them is less than a whole batch; resolves with the sum of their counts. */
async function repeatBatches(ctx: Context, run: Parameters<typeof withChangeLog<number>>[1]): Promise<number> {
  let sum = 0
  for (;;) {
    const count = await withChangeLog(ctx, run)
    sum += count
    if (count < BATCH_SIZE) return sum
  }
}

/** Deletes the links of a person who is being erased, with their copies. */
export async function deleteLinksOnErase({ em, changes, userId, report }: Erasure): Promise<void> {
  const deleted = await runStatement(em, deleteLinksOfOwner, [userId])
  dropCopies({ em, changes }, deleted)
  report['shared_links'] = { deleted: deleted.length, kept: 0 }
}
