import type { TargetType } from './api.ts'
import { Failure } from './check.ts'
import type { TargetReader } from './target-reader.ts'

/** Reads everything once in every usual way, and of each type what is not there. */
export async function readEverything(server: TargetReader, missingId: string): Promise<void> {
  for (const type of server.types) await readType(server, type, missingId)
  for (const { self, related } of await server.linked(2)) {
    for (const link of [self, related].filter(Boolean)) await read(server, link)
  }
}

async function readType(server: TargetReader, type: TargetType, missingId: string): Promise<void> {
  const { verbs, path, includes } = type
  if (verbs.has('list')) {
    await read(server, path, includes.length > 0 ? `include=${includes.join()}` : '')
    await read(server, path, 'nonesuch=1')
  }
  const [first] = await server.samples(type)
  if (!verbs.has('get')) return
  await read(server, server.pathOf(type, missingId))
  if (first) await read(server, server.pathOf(type, first['id']))
}

/** A missing answer is not judged here; the obligations of reading report it. */
async function read(server: TargetReader, path: string, query = ''): Promise<void> {
  await server.get(path, query).catch((cause: unknown) => {
    if (!(cause instanceof Failure)) throw cause
  })
}
