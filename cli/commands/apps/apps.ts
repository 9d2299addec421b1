import { defineCommand } from 'citty'
import { readEnv } from '../../../server/config/env.ts'
import { readExtApps } from '../../../server/config/ext-apps.ts'
import { type CommandContext, json } from '../../command-context.ts'
import { UsageError } from '../../errors.ts'
import { properties, table } from '../../table.ts'
import { createApp } from './create-app.ts'
import { appId, rotateApp } from './rotate-app.ts'

/** Off works for apps of the file, too: it holds until somebody switches them on. */
const switchApp = (context: CommandContext, active: boolean) =>
  defineCommand({
    meta: {
      description: active
        ? 'Switch an external app on again, with its credentials and links'
        : 'Switch an external app off at once: neither its credentials nor its links work, and what it has under way stops',
    },
    args: { id: appId, json },
    async run({ args: { id } }) {
      const { name } = await context.open(({ host }) => host.extApps.update({ id, active }))
      context.print({ record: { id, name, active }, text: `App ${id}, ${name}, is ${active ? 'on' : 'off'}.` })
    },
  })

export const app = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'The external apps that people can link to their account' },
    subCommands: {
      create: createApp(context),
      list: listApps(context),
      show: showApp(context),
      rotate: rotateApp(context),
      off: switchApp(context, false),
      on: switchApp(context, true),
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
