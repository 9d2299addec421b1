import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  type AuditEnds,
  type ChainedEntry,
  deleteRemovedAudit,
  findAuditEnds,
  findLastAuditBefore,
  listAuditEntries,
  listRecentActors,
  markAuditRemoved,
  readAuditChain,
} from '../../entities/events/audit-entry.sql.ts'
import { findReferenceNames } from '../../entities/views/reference-name.sql.ts'
import type { Context } from '../core/context.ts'
import { about, adminSession, adminWith, host, router } from '../core/trpc.ts'
import { day } from '../ports/days.ts'
import { AUDIT_ANCHOR, AUDIT_REMOVAL, type Vault } from '../ports/vault.ts'
import { deleteInBatches } from '../verbs/delete-in-batches.ts'

const filterMembers = {
  /** An act such as `aiModels.update`, or a prefix that ends with a dot, such as `aiModels.`. */
  act: z
    .string()
    .regex(/^[A-Za-z]{1,40}\.?[A-Za-z]{0,40}$/, 'must be an act such as aiModels.update, or aiModels.')
    .optional(),
  /** Such as `user:5` or `host`. */
  actor: z.string().max(40).optional(),
  /** Such as `user:5` or `ai-models:3`. */
  subject: z.string().max(200).optional(),
  outcome: z.string().max(60).optional(),
  /** Days in UTC, both included. */
  from: day.optional(),
  to: day.optional(),
}

const page = z.strictObject({
  ...filterMembers,
  /** A cursor: the number of the last entry of the previous page. */
  before: z.int().min(1).optional(),
  limit: z.int().min(1).max(1000).default(50),
})

/** Rows that one statement deletes. */
const BATCH_SIZE = 1000

const anchor = z.strictObject({
  seq: z.int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits'),
  /** Proves that this installation wrote the anchor; absent in earlier versions. */
  seal: z.string().max(500).optional(),
})
type Anchor = z.output<typeof anchor>

/** Procedures for the append-only audit log. */
export const auditRouter = router({
  list: adminWith('read')
    .meta(
      about(
        'List the entries of the audit log, the newest first, with the names of their actors and subjects; `next` is where the page after it begins.',
      ),
    )
    .input(page.prefault({}))
    .query(async ({ ctx, input: { before, limit, ...filters } }) => {
      const values = [
        toPattern(filters.act),
        filters.actor,
        filters.subject,
        filters.outcome,
        filters.from,
        filters.to,
        before,
      ]
      const rows = await ctx.services.sql(listAuditEntries, [...values.map((value) => value ?? null), limit])
      return {
        entries: rows.map(toRecord),
        names: await findNames(
          ctx,
          rows.flatMap(({ actor, subject }) => [actor, subject ?? '']),
        ),
        next: rows.length === limit ? (rows.at(-1)?.seq ?? null) : null,
      }
    }),

  actors: adminWith('read')
    .meta(about('List the actors of the latest entries of the audit log, with their names.'))
    .query(async ({ ctx }) => {
      const actors = (await ctx.services.sql(listRecentActors)).map(({ actor }) => actor)
      return { actors, names: await findNames(ctx, actors) }
    }),

  /** Exports all entries with their hashes, the oldest first. */
  export: host.query(async ({ ctx }) => {
    const ends = await findEnds(ctx)
    return { ends, batches: ctx.services.records.readInBatches(readAuditChain, [ends.seq]) }
  }),

  /** Verifies the chain, that only retention and removals of people took something from it, and anchors from the log. */
  verify: adminSession
    .input(z.strictObject({ anchors: z.array(anchor).max(10_000).default([]) }).prefault({}))
    .query(async ({ ctx, input: { anchors } }) => {
      const ends = await findEnds(ctx)
      const verifier = new ChainVerifier(ends, anchors)
      verifier.checkSeals(ctx.services.vault, anchors)
      for await (const entries of ctx.services.records.readInBatches(readAuditChain, [null]))
        for (const e of entries) verifier.check(e)
      // The chain may have grown meanwhile: no entry is behind the head of now.
      return verifier.finish(await findEnds(ctx))
    }),

  /** Deletes entries older than the retention setting, and writes an anchor to the log. */
  upkeep: host.mutation(async ({ ctx }) => {
    const { settings, sql, log, vault } = ctx.services
    const { metrics } = ctx.services.process
    const before = new Date()
    before.setUTCMonth(before.getUTCMonth() - settings.auditRetentionMonths)
    const [last] = await sql(findLastAuditBefore, [before])
    const seal = last && vault.seal(writeAnchorText(last), AUDIT_REMOVAL)
    const [removed] = last ? await sql(markAuditRemoved, [last.seq, last.hash, seal]) : []
    if (removed) log.info(removed, 'entries of the audit log were removed up to this one')
    await deleteInBatches(BATCH_SIZE, () => sql(deleteRemovedAudit, [BATCH_SIZE]))
    const { seq, hash } = await findEnds(ctx)
    if (seq > 0) {
      log.info({ seq, hash, seal: vault.seal(writeAnchorText({ seq, hash }), AUDIT_ANCHOR) }, 'audit anchor')
      metrics.recordAnchor()
    }
    return { seq, hash }
  }),
})

/** Writes the text that the seal of an anchor or of a removal has. */
const writeAnchorText = ({ seq, hash }: Pick<Anchor, 'seq' | 'hash'>) => `${seq} ${hash}`

const toPattern = (act: string | undefined) => (act?.endsWith('.') ? `${act}%` : act)

async function findEnds({ services }: Context): Promise<AuditEnds> {
  const [ends] = await services.sql(findAuditEnds)
  return ends ?? { seq: 0, hash: '', removedSeq: 0, removedHash: '', removedSeal: null }
}

const numberedReference = /^([a-z-]{1,40}):(\d{1,9})$/

/** Finds the names of what references such as `user:5` lead to; erased people have none. */
async function findNames({ services }: Context, references: readonly string[]): Promise<Record<string, string>> {
  const numbered = [...new Set(references)].flatMap((reference) => {
    const [, kind = '', id = ''] = numberedReference.exec(reference) ?? []
    return kind === '' ? [] : [{ kind, id }]
  })
  if (numbered.length === 0) return {}
  const ids = Map.groupBy(numbered, ({ kind }) => kind)
  const idsByKind = Object.fromEntries([...ids].map(([kind, all]) => [kind, all.map(({ id }) => id)]))
  const rows = await services.sql(findReferenceNames, [JSON.stringify(idsByKind)])
  return Object.fromEntries(rows.map(({ reference, name }) => [reference, name]))
}

/** Converts an entry to its readable form. */
function toRecord({ seq, at, act, outcome, actor, subject, requestId, origin, change }: ChainedEntry) {
  return { seq, at, act, outcome, actor, subject, requestId, origin: readText(origin), change: readText(change) }
}

/** Parses a text without its salt; returns null if nothing was stored or it was erased. */
function readText(text: string | null): Record<string, unknown> | null {
  if (text === null) return null
  const { salt: _, ...members } = JSON.parse(text) as Record<string, unknown>
  return members
}

interface Finding {
  seq: number
  problem: string
}

/** The largest number of findings, because every entry may be broken. */
const MAX_FINDINGS = 100

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Acts that erase the texts of entries by and about a person, who is their subject. */
const removals = ['admin.removeUser', 'users.delete']

const REMOVED_WITHOUT_PROOF =
  'was removed with all before it, and nothing proves that the retention did it; ' +
  'a version before 28 November 2026 leaves it so, until the next removal'

/** Verifies each entry against the previous one and its own digests. */
class ChainVerifier {
  readonly #ends: AuditEnds
  readonly #anchors: Map<number, string>
  readonly #findings: Finding[] = []
  #last: { seq: number; hash: string }
  /** The hash of the entry that was the head when the verification began. */
  #hashAtHead: string | undefined
  /** The last erased entry by or about each person whose removal has not been read yet. */
  readonly #erasedUntil = new Map<string, number>()
  #entries = 0
  #erased = 0

  constructor(ends: AuditEnds, anchors: readonly Anchor[]) {
    this.#ends = ends
    this.#anchors = new Map(anchors.map(({ seq, hash }) => [seq, hash]))
    this.#last = { seq: ends.removedSeq, hash: ends.removedHash }
    if (ends.seq === ends.removedSeq) this.#hashAtHead = ends.removedHash
  }

  /** Finds anchors, and the removal of the beginning, that were written without the application key. */
  checkSeals(vault: Vault, anchors: readonly Anchor[]): void {
    const { removedSeq, removedHash, removedSeal } = this.#ends
    const removal = writeAnchorText({ seq: removedSeq, hash: removedHash })
    if (removedSeq > 0 && removedSeal === null) this.#report(removedSeq, REMOVED_WITHOUT_PROOF)
    else if (removedSeq > 0 && openSeal(vault, removedSeal ?? '', AUDIT_REMOVAL) !== removal)
      this.#report(removedSeq, 'was removed with all before it, but not by the retention of this service')
    for (const { seq, hash, seal } of anchors)
      if (seal !== undefined && openSeal(vault, seal, AUDIT_ANCHOR) !== writeAnchorText({ seq, hash }))
        this.#report(seq, 'has an anchor in the log that no known application key has sealed')
  }

  check(entry: ChainedEntry): void {
    // Its deletion has been recorded and follows soon.
    if (entry.seq <= this.#ends.removedSeq) return
    const { seq, hash, previous, origin, originDigest, change, changeDigest } = entry
    this.#entries++
    this.#checkErasure(entry)
    if (seq !== this.#last.seq + 1) this.#report(seq, `entries ${this.#last.seq + 1} to ${seq - 1} are missing`)
    if (previous !== this.#last.hash) this.#report(seq, 'does not follow the entry before it')
    if (hash !== computeHash(entry)) this.#report(seq, 'was changed')
    if (!matchesDigest(origin, originDigest)) this.#report(seq, 'says another origin than it did')
    if (!matchesDigest(change, changeDigest)) this.#report(seq, 'says another change than it did')
    this.#compareAnchor(seq, hash)
    if (seq === this.#ends.seq) this.#hashAtHead = hash
    this.#last = { seq, hash }
  }

  /** `current` are the ends of the chain after all entries were read. */
  finish(current: AuditEnds) {
    const { seq, hash } = this.#ends
    if (this.#last.seq < seq) this.#report(seq, `entries ${this.#last.seq + 1} to ${seq} are missing`)
    else if (this.#hashAtHead !== hash) this.#report(seq, 'is not what the head of the chain says')
    if (this.#last.seq > current.seq) this.#report(this.#last.seq, `is behind the head of the chain, ${current.seq}`)
    for (const [person, erasedSeq] of this.#erasedUntil)
      this.#report(erasedSeq, `lost its texts, and no later entry says that ${person} was removed`)
    for (const at of this.#anchors.keys())
      if (at > this.#ends.removedSeq) this.#report(at, 'has an anchor in the log, and is missing')
    return {
      isWhole: this.#findings.length === 0,
      seq,
      hash,
      entries: this.#entries,
      erased: this.#erased,
      findings: this.#findings,
    }
  }

  #checkErasure({ seq, act, outcome, actor, subject, origin, originDigest, change, changeDigest }: ChainedEntry): void {
    const isOriginErased = originDigest !== null && origin === null
    const isChangeErased = changeDigest !== null && change === null
    if (subject !== null && outcome === 'ok' && removals.includes(act)) this.#erasedUntil.delete(subject)
    if (isOriginErased || isChangeErased) this.#erased++
    if (isOriginErased) this.#erasedUntil.set(actor, seq)
    if (isChangeErased) this.#erasedUntil.set(subject ?? 'anybody', seq)
  }

  #compareAnchor(seq: number, hash: string): void {
    const anchored = this.#anchors.get(seq)
    if (anchored !== undefined && anchored !== hash) this.#report(seq, 'is not what its anchor in the log says')
    this.#anchors.delete(seq)
  }

  #report(seq: number, problem: string): void {
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push({ seq, problem })
  }
}

function openSeal(vault: Vault, seal: string, purpose: string): string | undefined {
  try {
    return vault.open(seal, purpose)
  } catch {
    return undefined
  }
}

/** Computes the same hash as the database: see `entities/events/audit-entry.ts`. */
function computeHash({
  seq,
  at,
  act,
  outcome,
  actor,
  subject,
  requestId,
  originDigest,
  changeDigest,
  previous,
}: ChainedEntry) {
  const texts = [seq, at, act, outcome, actor, subject, requestId, originDigest, changeDigest, previous]
  return sha256(texts.map((text) => text ?? '').join('\n'))
}

const matchesDigest = (text: string | null, digest: string | null) => text === null || sha256(text) === digest
