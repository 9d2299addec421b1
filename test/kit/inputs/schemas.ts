import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { z } from 'zod'
import { inputsOf } from '../../../facades/http/procedures.ts'
import { type Access, accessOf, metaOf } from '../../../routers/core/trpc.ts'
import { appRouter, selectJsonApi } from '../../../routers/index.ts'
import type { Relation, Resource } from '../../../routers/resource/declare.ts'
import { buildRelatedInput } from '../../../routers/verbs/read.ts'

export interface TestedProcedure {
  name: string
  isQuery: boolean
  streams: boolean
  access: Access
  inputs: z.ZodType[]
}

const listProcedures = ({ _def }: AnyTRPCRouter): TestedProcedure[] =>
  Object.entries(_def.procedures as Record<string, AnyTRPCProcedure>).map(([name, procedure]) => {
    const { streams = false } = metaOf(procedure)
    const isQuery = procedure._def.type !== 'mutation'
    return { name, isQuery, streams, access: accessOf(procedure), inputs: inputsOf(procedure) }
  })

/** Every procedure of tRPC, with the schemas of its input. */
export const procedures: TestedProcedure[] = listProcedures(appRouter)

/** All of JSON:API, with the types that a setting adds. */
const { router, resources } = selectJsonApi(true)

/** Procedures with an input that are called over the network. A streaming one has the same input as its counterpart without a stream. */
export const attackable = procedures.filter(
  ({ access, inputs, streams }) =>
    !['the host', 'external apps'].includes(access.callers) && inputs.length > 0 && !streams,
)

const toRelationSchema = (from: Resource, { to, ...relation }: Relation) => ({
  name: `${from.type} to ${to}`,
  schema: buildRelatedInput({ to, ...relation }, resources.find(({ type }) => type === to) as Resource) as z.ZodType,
})

/** Every schema that an input is judged by, with a name for messages. */
export const schemas: { name: string; schema: z.ZodType }[] = [
  ...listProcedures(router).flatMap(({ name, inputs }) => inputs.map((schema) => ({ name, schema }))),
  ...resources.flatMap((from) => Object.values(from.relations).map((relation) => toRelationSchema(from, relation))),
]

/** A schema's definition in zod by its type, including the schemas within it. */
export interface Definition {
  type: string
  checks?: { _zod: { def: { check: string; maximum?: number; length?: number } } }[]
  format?: string
  pattern?: RegExp
  shape?: Record<string, z.ZodType>
  options?: z.ZodType[]
  items?: z.ZodType[]
  entries?: Record<string, unknown>
  values?: unknown[]
  element?: z.ZodType
  valueType?: z.ZodType
  innerType?: z.ZodType
  catchall?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
}

export const definitionOf = (schema: z.ZodType) => schema._zod.def as unknown as Definition

/** The schemas directly within another, each with the step that leads there. Free JSON has no parts of its own. */
function listParts(schema: z.ZodType): [step: string, part: z.ZodType][] {
  const { shape = {}, options = [], items = [], ...def } = definitionOf(schema)
  if (def.type === 'lazy') return []
  const wrapped = [def.innerType, def.in, def.out, ...options].flatMap((part) => (part ? [part] : []))
  return [
    ...Object.entries(shape).map(([name, part]): [string, z.ZodType] => [`.${name}`, part]),
    ...wrapped.map((part): [string, z.ZodType] => ['', part]),
    ...[def.element, def.valueType, def.catchall, ...items].flatMap((part): [string, z.ZodType][] =>
      part ? [['[]', part]] : [],
    ),
  ]
}

/** Every schema in another, itself first, with the path to it. */
export function* walkSchema(schema: z.ZodType, path = ''): Generator<{ path: string; schema: z.ZodType }> {
  yield { path, schema }
  for (const [step, part] of listParts(schema)) yield* walkSchema(part, path + step)
}

/** Lists the members of an input's object; one arbitrary name if it is no object. */
export function listMemberNames({ inputs }: Pick<TestedProcedure, 'inputs'>): string[] {
  const names = inputs.flatMap((schema) => {
    const object = [...walkSchema(schema)].find(({ schema }) => definitionOf(schema).type === 'object')
    return Object.keys((object && definitionOf(object.schema).shape) ?? {})
  })
  return names.length > 0 ? names : ['x']
}
