import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { z } from 'zod'

const attributes = z.record(z.string(), z.json())

const relationship = z.strictObject({
  to: z.string().describe('the type that it leads to'),
  many: z.boolean().default(false).describe('whether it leads to many resources'),
  links: z
    .array(z.enum(['self', 'related']))
    .default([])
    .describe('the usual URLs that work though no document links to them'),
  required: z.boolean().default(false).describe('whether a resource cannot be made without it'),
  set: z
    .array(z.enum(['create', 'update']))
    .default([])
    .describe('the documents that may give it'),
  change: z
    .array(z.enum(['PATCH', 'POST', 'DELETE']))
    .default([])
    .describe('what its own URL takes'),
})

const type = z.strictObject({
  path: z.string().startsWith('/').optional().describe('below the URL; "/" and the name of the type unless given'),
  read: z
    .array(z.enum(['list', 'get']))
    .default(['list', 'get'])
    .describe('what can be read: the collection, a resource'),
  ids: z.array(z.string()).default([]).describe('ids to look at, where the collection cannot be read'),
  include: z.array(z.string()).default([]).describe('paths that the collection can include'),
  sort: z.array(z.string()).default([]).describe('fields that the collection can be sorted by'),
  page: z.array(z.string().startsWith('page')).default([]).describe('parameters that page it, such as page[size]'),
  create: z
    .strictObject({ attributes: attributes.default({}) })
    .optional()
    .describe('attributes of a new resource'),
  update: z.strictObject({ attributes }).optional().describe('other values for attributes that an update may change'),
  delete: z.boolean().default(true).describe('whether what was made can be removed; if not, nothing is made'),
  relationships: z.record(z.string(), relationship).default({}),
  complete: z
    .boolean()
    .default(false)
    .describe('whether all that it offers is named, so that the rest must be refused'),
})

const description = z.strictObject({
  server: z.string().describe('name and version of the server, for people'),
  url: z.url().optional().describe('where the types are; --url goes before it'),
  headers: z.record(z.string(), z.string()).default({}).describe('sent with every request'),
  openapi: z
    .union([z.url(), z.literal(false)])
    .optional()
    .describe('where the server describes itself, or false'),
  missingId: z.string().optional().describe('an id that no resource has, of a form that the server takes'),
  types: z.record(z.string(), type).refine((types) => Object.keys(types).length > 0, 'names no type'),
  skip: z.array(z.strictObject({ rule: z.string(), reason: z.string().min(1) })).default([]),
})

export type ServerDescription = z.infer<typeof description>
export type TypeDescription = z.infer<typeof type>

/** Reads a hand-written description of a server in JSON or YAML. */
export async function readServerDescription(file: string): Promise<ServerDescription> {
  const written = parse(await readFile(file, 'utf8')) as unknown
  const { data, error } = description.safeParse(written)
  if (error) throw new Error(`${file} does not describe a server:\n${z.prettifyError(error)}`)
  return data
}
