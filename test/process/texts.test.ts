import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyProcedure } from '@trpc/server'
import type { ArgsDef } from 'citty'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createCommandContext } from '../../cli/command-context.ts'
import { type AnyCommand, resolveValue } from '../../cli/command-tree.ts'
import { createRoot, svc, svcConsole } from '../../cli/programs.ts'
import { getProcessTerminal } from '../../cli/prompts.ts'
import { errorCodes, getErrorKind } from '../../routers/core/problems.ts'
import type { ProcedureMeta } from '../../routers/core/trpc.ts'
import { selectJsonApi } from '../../routers/index.ts'
import { describeSettings } from '../../server/config/settings.ts'
import { openApi } from '../kit/json-api/openapi.ts'
import { root } from '../kit/service-process.ts'

/** A text that people read, and the place of it. */
type Text = [place: string, text: string]

const collectDescriptions = (value: unknown, place = ''): Text[] =>
  Object.entries(value ?? {}).flatMap(([key, inner]): Text[] => {
    if (typeof inner === 'string') return key === 'description' ? [[place, inner]] : []
    return typeof inner === 'object' ? collectDescriptions(inner, `${place}/${key}`) : []
  })

/** The standard names of HTTP statuses are no sentences, and the introduction is a page. */
const openApiTexts = collectDescriptions(openApi).filter(([place]) => !/\/responses\/\d+$|^\/info$/.test(place))

const settingTexts = describeSettings().map(({ name, meaning }): Text => [name, meaning])

async function collectHelp(command: AnyCommand, path: string): Promise<Text[]> {
  const { description = '' } = (await resolveValue(command.meta)) ?? {}
  const args: ArgsDef = (await resolveValue(command.args)) ?? {}
  const flags = Object.entries(args).flatMap(([name, arg]): Text[] =>
    arg.description ? [[`${path} --${name}`, arg.description]] : [],
  )
  const commands = Object.entries((await resolveValue(command.subCommands)) ?? {})
  const nested = commands.map(async ([name, each]) => collectHelp(await resolveValue(each), `${path} ${name}`))
  return [[path, description], ...flags, ...(await Promise.all(nested)).flat()]
}

const context = createCommandContext({ terminal: getProcessTerminal(), isJson: true, env: {} })
const helpTexts = (
  await Promise.all([svc, svcConsole].map((program) => collectHelp(createRoot(program, context), program.name)))
).flat()

/** Texts that the contract or the protocol of tools quotes. */
const contractTexts =
  /^(Validation Error|Invalid language|Failed to fetch latest policy|(Failed to mark a|A)nnouncement (marked )?as |(Conv|Room|Member) (deleted|removed) successfully$|No users found$|Unknown (tool|\$\{kind\})$)/

/** Finds the texts that the sources write as `detail` or `message`; one about a value begins in lower case, and a prompt of a command is a label. */
const writtenErrors = globSync('{entities,facades,routers,server}/**/*.ts', { cwd: root })
  .filter((file) => !/\/(labels|dist|app|browser)\//.test(file))
  .flatMap((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    const literals = source.matchAll(/\b(?:detail|message)(?:: |:\s+)(?:'((?:\\.|[^'])*)'|`((?:\\.|[^`])*)`)/g)
    return [...literals].map(([, plain, template]): Text => [file, plain ?? template ?? ''])
  })
  .filter(([, text]) => /^[A-Z].* /.test(text))

const errorTexts = [...errorCodes.map((code): Text => [code, getErrorKind(code).title]), ...writtenErrors].filter(
  ([, text]) => !contractTexts.test(text),
)

/** The texts of procedures and of their inputs, also of those that only tRPC has, or that a setting adds. */
const procedureTexts = Object.entries<AnyProcedure>(selectJsonApi(true).router._def.procedures as never).flatMap(
  ([path, { _def: procedure }]): Text[] => {
    const { about } = procedure.meta as ProcedureMeta
    const inputs = procedure.inputs as z.ZodType[]
    const schemas = inputs.map((input) => z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }))
    return [...(about ? [[path, about] as Text] : []), ...collectDescriptions(schemas, path)]
  },
)

const lists: [name: string, texts: Text[], least: number][] = [
  ['OpenAPI', openApiTexts, 300],
  ['settings', settingTexts, 150],
  ['help', helpTexts, 200],
  ['error texts', errorTexts, 150],
  ['procedures', procedureTexts, 300],
]

/** Openings of clauses, which leave out their subject or their verb. */
const clause =
  /^(What|Whether|How|Where|Who|Whom|Whose|When|Why|Of|As|Until when|After how|By what|To what|To how|In how|On what|Among|Told|Sent|Given|Made|Kept|Seen|Known)\b(?!-)/

test.for(lists)('texts of %s have a subject and a verb', ([, texts, least]) => {
  const found = texts.filter(([, text]) => text.split(/(?<=[.:;]) /).some((sentence) => clause.test(sentence.trim())))

  expect(texts.length).toBeGreaterThan(least)
  expect([...new Set(found.map((text) => text.join(': ')))]).toEqual([])
})

test.for(lists)('texts of %s end with a full stop', ([, texts]) => {
  const found = texts.filter(([, text]) => !/([.!?:]|```|\|)$/.test(text.trim()))

  expect([...new Set(found.map((text) => text.join(': ')))]).toEqual([])
})

/** The names of tests that are written in quotation marks, with their files. */
const testNames = globSync('test/**/*.test.ts', { cwd: root }).flatMap((file) => {
  const source = readFileSync(join(root, file), 'utf8')
  const literals = source.matchAll(/(?:\b(?:test|it)(?:\.\w+)*|\]\))\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g)
  return [...literals].map(([, , name = '']): Text => [file, name])
})

test('the name of a test has at most fourteen words', () => {
  expect(testNames.length).toBeGreaterThan(2000)
  expect(testNames.filter(([, name]) => name.split(/\s+/).length > 14)).toEqual([])
})
