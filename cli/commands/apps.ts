import { defineCommand } from 'citty'
import { z } from 'zod'
import { appAbilities } from '../../entities/apps/ext-app.ts'
import { readExtApps } from '../../server/config/config-file.ts'
import { readEnv } from '../../server/config/env.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { commaList, lifetime, parseOptionalFlag, requiredText, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'
import type { Prompts } from '../prompts.ts'

export const appCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the external apps that people can link to their account.' },
    subCommands: {
      create: createAppCommand(context),
      list: listAppsCommand(context),
      show: showAppCommand(context),
      rotate: rotateAppCommand(context),
      off: setAppActiveCommand(context, false),
      on: setAppActiveCommand(context, true),
      remove: removeAppCommand(context),
      sync: syncAppsCommand(context),
    },
  })

const appId = { type: 'positional', required: true, description: 'The id of the app.' } as const

const credentialExpires = {
  type: 'string',
  description: 'The time for which the credential works, such as 90d or 1y; for ever if absent.',
} as const

export const listAppsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the external apps.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.extApps.overview())
      context.print({ record, text: formatTable(record, 'There are no external apps.') })
    },
  })

const showAppCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show an external app, and the last use of its credentials.' },
    args: { id: appId, json },
    async run({ args: { id } }) {
      const record = await context.open(({ host }) => host.extApps.show({ id }))
      const { credentials, ...app } = record
      const text = [formatProperties(app), '', 'Credentials:', formatTable(credentials, 'There are none.')].join('\n')
      context.print({ record, text })
    },
  })

const abilities = commaList.pipe(z.array(z.enum(appAbilities)))

const days = typedNumber.pipe(z.int('must be a whole number').min(1).max(365))

export const createAppCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Create an external app, and show its credential and its private key once.' },
    args: {
      name: { type: 'string', description: 'The unique name that people see.' },
      url: { type: 'string', description: 'The address of the app.' },
      redirect: {
        type: 'string',
        description: 'The addresses that browsers may return to, separated by commas; --url if absent.',
      },
      description: { type: 'string', description: 'The purpose of the app, for people.' },
      logo: { type: 'string', description: 'The address of the picture of the app.' },
      abilities: {
        type: 'string',
        description: `The abilities that the app may ask for, of ${appAbilities.join(',')}; ai,user if absent.`,
      },
      'public-key': {
        type: 'string',
        description: 'The RSA key of the app, as SPKI in base64. If absent, a pair is created.',
      },
      'with-keys': {
        type: 'boolean',
        description: 'The app gets the passphrase of people, and can read all that is encrypted for them.',
      },
      'without-keys': {
        type: 'boolean',
        description: 'This flag changes nothing: an app gets no passphrase without --with-keys.',
      },
      days: { type: 'string', description: 'The number of days for which a link is valid; 90 if absent.' },
      expires: credentialExpires,
      json,
    },
    async run({ args }) {
      const { prompts } = context
      if (args['with-keys'] && args['without-keys'])
        throw new UsageError('--with-keys does not go with --without-keys.')
      const { name, url, options } = await prompts.readAll({
        name: () => prompts.askText({ flag: '--name', value: args.name, message: 'Name', schema: requiredText }),
        url: () =>
          prompts.askText({ flag: '--url', value: args.url, message: 'Address of the app', schema: requiredText }),
        options: () => readOptions(prompts, args),
      })
      const input = { name, url, redirectUrls: [url], ...options }
      const { id, credential, privateKey } = await context.open(({ host }) => host.extApps.create(input))
      const key = privateKey ? `\n\nPrivate key:\n\n${toPem(privateKey)}` : ''
      const text = `App ${id} is made. Copy this now, it is not shown again.\n\nCredential:\n\n${credential}${key}`
      context.print({ record: { id, name, credential, ...(privateKey && { privateKey }) }, text })
    },
  })

interface AppFlags {
  redirect?: string | undefined
  description?: string | undefined
  logo?: string | undefined
  abilities?: string | undefined
  'public-key'?: string | undefined
  'with-keys'?: boolean | undefined
  'without-keys'?: boolean | undefined
  days?: string | undefined
  expires?: string | undefined
}

async function readOptions(prompts: Prompts, { redirect, description, logo, ...args }: AppFlags) {
  const input = await prompts.readAll({
    abilities: () => parseOptionalFlag('abilities', abilities, args.abilities, '--abilities'),
    linkDays: () => parseOptionalFlag('linkDays', days, args.days, '--days'),
    expiry: () => parseOptionalFlag('credentialExpiresAt', lifetime, args.expires, '--expires').credentialExpiresAt,
  })
  return {
    ...(redirect !== undefined && { redirectUrls: commaList.parse(redirect) }),
    ...(description !== undefined && { description }),
    ...(logo !== undefined && { logoUrl: logo }),
    ...(args['public-key'] !== undefined && { publicKey: args['public-key'] }),
    ...(args['with-keys'] && { needsKeys: true }),
    ...input.abilities,
    ...input.linkDays,
    ...(input.expiry && { credentialExpiresAt: input.expiry.toISOString() }),
  }
}

const minutes = typedNumber.pipe(z.int('must be a whole number').min(0).max(10_080))

const rotateAppCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Give an external app another credential, or another key that secrets are encrypted for.' },
    args: {
      id: appId,
      overlap: {
        type: 'string',
        description:
          'The number of minutes for which earlier credentials still work; 60 if absent, 0 if one has leaked.',
      },
      expires: credentialExpires,
      key: {
        type: 'string',
        description: 'The other RSA key of the app, as SPKI in base64, or `new` for a pair. It ends all links.',
      },
      yes: { type: 'boolean', description: 'Do not ask before links end.' },
      json,
    },
    async run({ args: { id, overlap, expires, key, yes } }) {
      const stray = Object.entries({ overlap, expires }).filter(([, value]) => key !== undefined && value !== undefined)
      if (stray.length > 0) throw new UsageError(stray.map(([name]) => `--${name} does not go with --key.`).join('\n'))
      if (key !== undefined) return rotateKey(context, { id, key, yes })
      const { overlapMinutes, expiry } = await context.prompts.readAll({
        overlapMinutes: () => parseOptionalFlag('overlapMinutes', minutes, overlap, '--overlap'),
        expiry: () => parseOptionalFlag('expiresAt', lifetime, expires, '--expires').expiresAt,
      })
      const input = { ...overlapMinutes, ...(expiry && { expiresAt: expiry.toISOString() }) }
      const { meta } = await context.open(({ host }) => host.extApps.rotateCredential({ id, ...input }))
      context.print({ record: meta, text: `Copy it now, it is not shown again:\n\n${meta.credential}` })
    },
  })

interface KeyChange {
  id: string
  key: string
  yes: boolean | undefined
}

async function rotateKey(context: CommandContext, { id, key, yes }: KeyChange): Promise<void> {
  if (!yes) await context.prompts.requireConsent('--yes', `End all links of app ${id}, so that it asks people again?`)
  const publicKey = key === 'new' ? null : key
  const { privateKey } = await context.open(({ host }) => host.extApps.update({ id, publicKey }))
  const keyText = privateKey ? ` Copy its private key now, it is not shown again:\n\n${toPem(privateKey)}` : ''
  const text = `App ${id} has another key, and no links.${keyText}`
  context.print({ record: { id, ...(privateKey && { privateKey }) }, text })
}

/** Returns the PEM of a key. Its first part is the PEM in base64. */
const toPem = (key: string) =>
  Buffer.from(key.split('|', 1)[0] ?? '', 'base64')
    .toString()
    .trimEnd()

/** Switching off works for apps of the configuration file, too, until somebody switches them on. */
const setAppActiveCommand = (context: CommandContext, active: boolean) =>
  defineCommand({
    meta: {
      description: active
        ? 'Enable an external app again, with its credentials and links.'
        : 'Disable an external app at once: its credentials and links stop working, and its running calls end.',
    },
    args: { id: appId, json },
    async run({ args: { id } }) {
      const { name } = await context.open(({ host }) => host.extApps.update({ id, active }))
      context.print({ record: { id, name, active }, text: `App ${id}, ${name}, is ${active ? 'on' : 'off'}.` })
    },
  })

export const removeAppCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Remove an external app with all its links. Its running calls end.' },
    args: { id: appId, yes: { type: 'boolean', description: 'Do not ask for confirmation.' }, json },
    async run({ args: { id, yes } }) {
      if (!yes) {
        context.prompts.requireTerminal('--yes')
        const { name, links } = await context.open(({ host }) => host.extApps.show({ id }))
        await context.prompts.requireConsent('--yes', `Remove ${name} with ${links} links?`)
      }
      const record = await context.open(({ host }) => host.extApps.delete({ id }))
      context.print({ record, text: `App ${record.id} is removed.` })
    },
  })

const syncAppsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Update the external apps to those in EXT_APPS.' },
    args: { json },
    async run() {
      const { EXT_APPS, variables } = readEnv(context.env)
      if (!EXT_APPS)
        throw new UsageError('EXT_APPS is not set: nothing was changed. Run this with the settings of the service.')
      const file = await readExtApps(EXT_APPS, variables)
      const record = await context.open(({ host }) => host.extApps.sync(file))
      const { apps, switchedOff, stayedOff } = record
      const off = switchedOff.length > 0 ? ` Switched off: ${switchedOff.join(', ')}.` : ''
      const stayed = stayedOff.length > 0 ? ` Off by an administrator: ${stayedOff.join(', ')}.` : ''
      context.print({ record, text: `Apps of the file: ${apps}.${off}${stayed}` })
    },
  })
