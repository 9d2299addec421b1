import { previewPath } from '../http/link-preview.ts'
import type { WireNames } from '../http/names.ts'
import { objectOf } from '../json-api/openapi/components.ts'
import { otherFaces } from './other-faces.ts'
import { answered, asIs, events, json, type Plain } from './plain.ts'

const pieces = `\`delta\` events with pieces of \`text\`, one \`usage\` event with the tokens, then \`done\`, or \`error\` with a code.`
const previewing = [401, 403, 413, 415, 422, 429]
const refused = [401, 403, 422, 429]

const ownEndpoints: readonly Plain[] = [
  {
    method: 'post',
    path: '/api/ai-req',
    name: 'ai.ask',
    tag: 'ai',
    refusals: [401, 403, 413, 415, 422, 429, 500],
    body: (input) => objectOf({ payload: input }),
    answers: (answer) =>
      answered(200, {
        ...json(objectOf({ success: { type: 'boolean', const: true }, content: answer })),
        ...events(pieces),
      }),
  },
  {
    method: 'get',
    path: '/api/user',
    name: 'users.me',
    tag: 'caller',
    refusals: [401, 403, 500],
    more: { deprecated: true, summary: 'Read the caller, as older programs expect it' },
    answers: (answer) => answered(200, json(answer)),
  },
  {
    method: 'get',
    path: '/health',
    name: 'health.check',
    tag: 'health',
    refusals: [],
    answers: (answer) => ({ ...answered(200, json(answer)), ...answered(503, json(answer)) }),
  },
]

const url = { name: 'url', in: 'query', required: true, schema: { type: 'string', maxLength: 2048 } }

/** What links lead to: the older address, and those below JSON:API, whose errors are documents. */
const previews = ({ basePath }: WireNames): Plain[] => [
  {
    ...{ method: 'post', path: '/api/link-preview', name: 'linkPreviews.metadata', tag: 'links', refusals: previewing },
    more: { deprecated: true, summary: 'Read what a page says of itself, as older front ends ask for it' },
    body: asIs,
    answers: (answer) => answered(200, json(answer)),
  },
  {
    ...{
      method: 'get',
      path: `${basePath}${previewPath}/metadata`,
      name: 'linkPreviews.metadata',
      tag: 'links',
      refusals: refused,
      refusal: 'document',
    },
    more: { parameters: [url] },
    answers: (answer) => answered(200, json(answer)),
  },
  ...(['image', 'favicon'] as const).map(
    (kind): Plain => ({
      ...{
        method: 'get',
        path: `${basePath}${previewPath}/${kind}`,
        name: `linkPreviews.${kind}`,
        tag: 'links',
        refusals: refused,
        refusal: 'document',
      },
      more: { parameters: [url] },
      answers: () => answered(200, { 'image/*': { schema: { type: 'string', format: 'binary' } } }),
    }),
  ),
]

export const plainEndpoints = (names: WireNames): Plain[] => [...ownEndpoints, ...otherFaces, ...previews(names)]

export const tags = [
  { name: 'ai', description: 'Asking AI models.' },
  { name: 'other faces', description: 'The same for programs that know the API of OpenAI or Anthropic.' },
  { name: 'caller', description: 'Who the access token belongs to.' },
  { name: 'health', description: 'Whether the service works.' },
  { name: 'links', description: 'What links lead to.' },
]
