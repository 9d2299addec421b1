import { defineCommand } from 'citty'
import { json, type Session } from '../command-context.ts'
import { table } from '../table.ts'

export const models = (session: Session) =>
  defineCommand({
    meta: { description: 'The AI models of this installation' },
    subCommands: { list: list(session), sync: sync(session), check: check(session) },
  })

const list = (session: Session) =>
  defineCommand({
    meta: { description: 'List the models' },
    args: { json },
    async run() {
      const record = await session.open(({ host }) => host.models.list())
      session.tell({
        record,
        words: table(record, 'There are no models. `svc models sync` reads them from AI_CONFIG.'),
      })
    },
  })

const sync = (session: Session) =>
  defineCommand({
    meta: { description: 'Bring providers and models to what AI_CONFIG says' },
    args: { json },
    async run() {
      const record = await session.open(({ host }) => host.models.sync())
      const { providers, models, tools, deactivated } = record
      const off = deactivated.length > 0 ? ` Switched off: ${deactivated.join(', ')}.` : ''
      session.tell({ record, words: `Providers: ${providers}, models: ${models}, tools: ${tools}.${off}` })
    },
  })

const check = (session: Session) =>
  defineCommand({
    meta: { description: 'Ask every provider which models it offers now' },
    args: { json },
    async run() {
      const record = await session.open(({ host }) => host.models.check())
      session.tell({ record, words: table(record, 'There are no models that are switched on.') })
    },
  })
