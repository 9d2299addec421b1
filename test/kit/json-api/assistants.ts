import { selectJsonApi } from '../../../routers/index.ts'
import { type Client, type Resource, toMany, toOne } from './client.ts'

/** All of JSON:API, with the types that a setting adds. */
export const { router: wholeRouter, resources: allResources } = selectJsonApi(true)

/** Has the types of assistants served. */
export const withAssistants = { JSONAPI_ASSISTANTS: 'true' }

/** Creates a draft with a tag and a starter in somebody's name; its texts are told by the handle. */
export async function addAssistant(client: Client, handle: string, model: string) {
  const texts = { systemPrompt: `INSTRUCTIONS-OF-${handle}`, detailDescription: `DETAILS-OF-${handle}` }
  const { one } = await expectDone(client.create('assistants', { name: `Name ${handle}`, handle, model, ...texts }))
  const { id } = one
  const tags = toMany('assistant-tags', [`tag of ${handle}`])
  await expectDone(client.post(`/assistants/${id}/relationships/assistantTags`, tags))
  const assistant = { assistant: toOne('assistants', id) }
  const starter = await expectDone(client.create('assistant-user-prompts', { text: `STARTER-OF-${handle}` }, assistant))
  return { id, starter: starter.one.id }
}

/** Has the newest version of an assistant answer for all. */
export const releaseForAll = (client: Client, id: string) =>
  expectDone(client.post(`/assistants/${id}/actions/release`, { releaseStage: 'organizational' }))

async function expectDone<A extends { status: number; text: string; one: Resource }>(answer: Promise<A>): Promise<A> {
  const done = await answer
  if (done.status >= 400) throw new Error(done.text)
  return done
}
