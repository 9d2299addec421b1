import { defineCommand } from 'citty'
import { type CommandContext, json } from '../../command-context.ts'
import { appId } from './rotate-app.ts'

/** Off works for apps of the file, too: it holds until somebody switches them on. */
export const switchApp = (context: CommandContext, active: boolean) =>
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
