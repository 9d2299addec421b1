import { defineCommand } from 'citty'
import { z } from 'zod'
import { appAbilities } from '../../entities/apps/ext-app.ts'
import { readEnv } from '../../server/config/env.ts'
import { readExtApps } from '../../server/config/ext-apps.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { parseFlag } from '../prompts.ts'
import { properties, table } from '../table.ts'
import { appId, rotateApp } from './rotate-app.ts'

export const app = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'The external apps that people can link to their account' },
    subCommands: {
      create: createApp(context),
      list: listApps(context),
      show: showApp(context),
      rotate: rotateApp(context),
      remove: removeApp(context),
      sync: syncApps(context),
    },
  })

const syncApps = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Bring external apps to what EXT_APPS says' },
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

const words = z.string().transform((text) => text.split(',').map((part) => part.trim()))
const abilities = words.pipe(z.array(z.enum(appAbilities)))
const days = z.coerce.number('must be a number').int('must be a whole number').min(1).max(365)
const said = z.string().trim().min(1, 'must not be empty')

export const createApp = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Make an external app, and show its credential and its private key once' },
    args: {
      name: { type: 'string', description: 'The name that people see, unique' },
      url: { type: 'string', description: 'Where the app is' },
      redirect: {
        type: 'string',
        description: 'Where browsers may be sent back, with commas between; --url when absent',
      },
      description: { type: 'string', description: 'What the app is for' },
      logo: { type: 'string', description: 'Address of its picture' },
      abilities: {
        type: 'string',
        description: `What it may ask for, of ${appAbilities.join(',')}; ai,user when absent`,
      },
      'public-key': { type: 'string', description: 'Its RSA key, as SPKI in base64; a pair is made when absent' },
      'without-keys': { type: 'boolean', description: 'It can do without the passkey of people' },
      days: { type: 'string', description: 'How many days a link holds; 90 when absent' },
      json,
    },
    async run({ args }) {
      const { prompts } = context
      const name = await prompts.text({ flag: '--name', given: args.name, message: 'Name', schema: said })
      const url = await prompts.text({ flag: '--url', given: args.url, message: 'Address of the app', schema: said })
      const given = { name, url, redirectUrls: [url], ...optionsOf(args) }
      const { id, credential, privateKey } = await context.open(({ host }) => host.extApps.create(given))
      const key = privateKey ? `\n\nPrivate key:\n\n${privateKey}` : ''
      const text = `App ${id} is made. Copy this now, it is not shown again.\n\nCredential:\n\n${credential}${key}`
      context.print({ record: { id, name, credential, ...(privateKey && { privateKey }) }, text })
    },
  })

interface Options {
  redirect?: string | undefined
  description?: string | undefined
  logo?: string | undefined
  abilities?: string | undefined
  'public-key'?: string | undefined
  'without-keys'?: boolean | undefined
  days?: string | undefined
}

const optionsOf = ({ redirect, description, logo, abilities: asked, days: held, ...args }: Options) => ({
  ...(redirect !== undefined && { redirectUrls: words.parse(redirect) }),
  ...(description !== undefined && { description }),
  ...(logo !== undefined && { logoUrl: logo }),
  ...(asked !== undefined && { abilities: parseFlag(abilities, asked, '--abilities') }),
  ...(args['public-key'] !== undefined && { publicKey: args['public-key'] }),
  ...(args['without-keys'] && { needsKeys: false }),
  ...(held !== undefined && { linkDays: parseFlag(days, held, '--days') }),
})

export const listApps = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the external apps' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.extApps.overview())
      context.print({ record, text: table(record, 'There are no external apps.') })
    },
  })

const showApp = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show an external app, and when its credentials were used' },
    args: { id: appId, json },
    async run({ args: { id } }) {
      const record = await context.open(({ host }) => host.extApps.show({ id }))
      const { credentials, ...app } = record
      const text = [properties(app), '', 'Credentials:', table(credentials, 'There are none.')].join('\n')
      context.print({ record, text })
    },
  })

export const removeApp = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Remove an external app with all its links; what it has under way stops' },
    args: { id: appId, yes: { type: 'boolean', description: 'Do not ask' }, json },
    async run({ args: { id, yes } }) {
      if (!yes) {
        context.prompts.expect('--yes')
        const { name, links } = await context.open(({ host }) => host.extApps.show({ id }))
        await context.prompts.consent('--yes', `Remove ${name} with ${links} links?`)
      }
      const record = await context.open(({ host }) => host.extApps.delete({ id }))
      context.print({ record, text: `App ${record.id} is removed.` })
    },
  })
