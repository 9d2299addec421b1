import { defineCommand } from 'citty'
import { z } from 'zod'
import { assistantsFile, handle } from '../../routers/assistants/content.ts'
import { readConfigFile } from '../../server/config/config-file.ts'
import { readEnv } from '../../server/config/env.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag, typedNumber } from '../flag-values.ts'
import { formatTable } from '../output.ts'

export const assistantsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage assistants: models with instructions of their own, which people share.' },
    subCommands: {
      apply: applyCommand(context),
      list: listCommand(context),
      publish: publishCommand(context),
      waiting: waitingCommand(context),
      approve: approveCommand(context),
      refuse: refuseCommand(context),
    },
  })

const applyCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Create the assistants of a file, or change them to what it says. Equal content makes no version; others stay as they are.',
    },
    args: {
      file: { type: 'positional', description: 'The file, YAML or JSON.', required: true },
      json,
    },
    async run({ args: { file } }) {
      const config = await readConfigFile(file, assistantsFile, readEnv(context.env).variables)
      const record = await context.open(({ host }) => host.assistants.applyFile(config))
      context.print({
        record,
        text: formatTable(record, 'The file has no assistants.', { width: context.width, cuttable: ['handle'] }),
      })
    },
  })

interface Page<Row> {
  assistants: Row[]
  total: number
}

/** The most rows that the service returns at once. */
const MAX_ROWS = 200

async function readAll<Row>(readPage: (page: { limit: number; offset: number }) => Promise<Page<Row>>): Promise<Row[]> {
  const all: Row[] = []
  for (;;) {
    const { assistants, total } = await readPage({ limit: MAX_ROWS, offset: all.length })
    all.push(...assistants)
    if (assistants.length === 0 || all.length >= total) return all
  }
}

const listCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List all assistants, without their texts.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => readAll(host.assistants.overview))
      const rows = record.map(({ handle, name, owner, audience, groups, published, latest, model }) => ({
        handle,
        name,
        owner,
        for: audience === 'groups' ? groups : audience,
        published,
        latest,
        model,
      }))
      const none = 'There are no assistants.'
      context.print({ record, text: formatTable(rows, none, { width: context.width, cuttable: ['name', 'for'] }) })
    },
  })

const waitingCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the versions that wait for approval to be for all. See ASSISTANTS_REVIEW.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => readAll(host.assistants.waiting))
      const none = 'No assistant waits for approval.'
      context.print({ record, text: formatTable(record, none, { width: context.width, cuttable: ['name'] }) })
    },
  })

const versionArgs = {
  handle: { type: 'positional', description: 'The handle of the assistant.', required: true },
  version: { type: 'string', description: 'The number of the version.', required: true },
} as const

const versionNumber = typedNumber.pipe(z.int('must be a whole number').min(1))

/** Reads the version of an assistant from the command line. */
const parseVersion = (args: { handle: string; version: string }) => ({
  handle: parseFlag(handle, args.handle, 'HANDLE'),
  version: parseFlag(versionNumber, args.version, '--version'),
})

const approveCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Approve the version of an assistant that waits: it answers all people from now on. Its files may change without another approval.',
    },
    args: { ...versionArgs, json },
    async run({ args }) {
      const selector = parseVersion(args)
      const record = await context.open(({ host }) => host.assistants.approve(selector))
      context.print({
        record,
        text: `Version ${selector.version} of ${selector.handle} answers all people from now on.`,
      })
    },
  })

const refuseCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Refuse the version of an assistant that waits. Its editors read the reason.' },
    args: {
      ...versionArgs,
      reason: { type: 'string', description: 'The reason, in a sentence for its editors.', required: true },
      json,
    },
    async run({ args: { reason, ...args } }) {
      const selector = parseVersion(args)
      const record = await context.open(({ host }) => host.assistants.refuse({ ...selector, reason }))
      context.print({ record, text: `Version ${selector.version} of ${selector.handle} was refused.` })
    },
  })

const publishCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Have a version of an assistant answer from now on, a newer or an earlier one.' },
    args: { ...versionArgs, json },
    async run({ args }) {
      const selector = parseVersion(args)
      const record = await context.open(({ host }) => host.assistants.publishAny(selector))
      context.print({ record, text: `Version ${selector.version} of ${record.handle} answers from now on.` })
    },
  })
