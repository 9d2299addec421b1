import type { TestApp } from '../app.ts'
import { addKnowledge } from './knowledge.ts'
import { addPerson } from './people.ts'

interface Files {
  [path: string]: Uint8Array | string
}

/** An owner with knowledge of these files and an assistant for all that has it, and another person. */
export async function addAssistantWithKnowledge(svc: TestApp, files: Files, content: object = {}, name?: string) {
  const [owner, asker] = [await addPerson(svc), await addPerson(svc)]
  const handbook = await addKnowledge(svc, 'Handbook', owner)
  for (const [path, bytes] of Object.entries(files)) await handbook.upload(path, bytes)
  await handbook.untilRead()
  const handle = name ?? `expert-${owner.id}`
  const created = await owner.create(handle, { knowledge: handbook.knowledge, ...content })
  if (created.status !== 200) throw new Error(`no assistant was created: ${created.problem}`)
  await owner.shareWithAll(handle)
  return { owner, asker, handbook, handle, model: `assistant/${handle}` }
}

/** Returns the sealed part of the address of the first citation of a chat completion. */
export async function readAddress(response: Response): Promise<string> {
  const { choices } = (await response.json()) as {
    choices: { message: { annotations: { url_citation: { url: string } }[] } }[]
  }
  const url = choices[0]?.message.annotations[0]?.url_citation.url ?? ''
  return url.slice(url.lastIndexOf('/') + 1)
}
