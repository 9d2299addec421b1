import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { defineCommand } from 'citty'
import { day } from '../../routers/ports/days.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseOptionalFlag, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'

export const auditCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Read the audit log of changes: their actor, target, time and address.' },
    subCommands: { list: listCommand(context), verify: verifyCommand(context), export: exportAllCommand(context) },
  })

const listCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show entries, the newest first.' },
    args: {
      act: {
        type: 'string',
        description: 'Show only this act, such as admin.setRole, or all acts that begin so: aiModels.',
      },
      actor: { type: 'string', description: 'Show only acts of this actor, such as user:5 or host.' },
      subject: { type: 'string', description: 'Show only acts on this target, such as user:5 or ai-models:3.' },
      outcome: { type: 'string', description: 'Show only this outcome: ok, or the code of a refusal.' },
      from: { type: 'string', description: 'The first day in UTC, such as 2026-01-31.' },
      to: { type: 'string', description: 'The last day in UTC.' },
      before: { type: 'string', description: 'Show only entries before this number.' },
      limit: { type: 'string', description: 'The number of entries; 50 if absent.' },
      json,
    },
    async run({ args: { before, limit, act, actor, subject, outcome, from, to } }) {
      const texts = Object.entries({ act, actor, subject, outcome })
      const values = await context.prompts.readAll({
        from: () => parseOptionalFlag('from', day, from, '--from'),
        to: () => parseOptionalFlag('to', day, to, '--to'),
        before: () => parseOptionalFlag('before', typedNumber, before, '--before'),
        limit: () => parseOptionalFlag('limit', typedNumber, limit, '--limit'),
      })
      const given = Object.fromEntries(texts.filter(([, text]) => text !== undefined))
      const input = { ...given, ...values.from, ...values.to, ...values.before, ...values.limit }
      const record = await context.open(({ host }) => host.audit.list(input))
      const rows = record.entries.map(({ requestId: _, origin, change, ...entry }) => {
        const [actor, subject] = [entry.actor, entry.subject].map((reference) => addName(record.names, reference))
        return {
          ...entry,
          actor,
          subject,
          origin: origin && JSON.stringify(origin),
          change: change && JSON.stringify(change),
        }
      })
      context.print({ record, text: formatTable(rows, 'There are no such entries.') })
    },
  })

/** Adds the name of what a reference leads to, as in `user:5 (Ada)`. */
const addName = (names: Record<string, string>, reference: string | null) =>
  reference !== null && names[reference] !== undefined ? `${reference} (${names[reference]})` : reference

const verifyCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Prove that no entry was changed, removed or moved. The exit code is 1 if one was.' },
    args: {
      log: { type: 'string', description: 'The log of the service as JSON, whose anchors are compared.' },
      json,
    },
    async run({ args: { log } }) {
      const anchors = log === undefined ? [] : await readAnchors(log)
      const record = await context.open(({ host }) => host.audit.verify({ anchors }))
      const { findings, ...counts } = record
      const text = [
        formatProperties({ ...counts, anchors: anchors.length }),
        formatTable(findings, 'Nothing is wrong.'),
      ]
      context.print({ record: { ...record, anchors: anchors.length }, text: text.join('\n\n') })
      context.hasFailed = !record.isWhole
    },
  })

const MAX_ANCHORS = 10_000

interface Anchor {
  seq: number
  hash: string
  seal?: string
}

/** Returns the last anchors in a log. */
async function readAnchors(path: string) {
  const anchors: Anchor[] = []
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (!line.includes('"audit anchor"')) continue
    const { seq, hash, seal } = JSON.parse(line) as Anchor
    anchors.push({ seq, hash, ...(seal !== undefined && { seal }) })
    if (anchors.length > MAX_ANCHORS) anchors.shift()
  }
  return anchors
}

const exportAllCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Print all entries as JSON, one a line, the oldest first, with the digests that prove them.' },
    args: { json },
    run: () =>
      context.open(async ({ host }) => {
        const { batches } = await host.audit.export()
        await context.write(toLines(batches))
      }),
  })

async function* toLines(batches: AsyncIterable<readonly object[]>): AsyncGenerator<string, void> {
  for await (const entries of batches) yield `${entries.map((entry) => JSON.stringify(entry)).join('\n')}\n`
}
