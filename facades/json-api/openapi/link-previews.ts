import { previewPath } from '../../http/link-preview.ts'
import type { WireNames } from '../../http/names.ts'
import { answered, type Endpoint, json } from '../../http/openapi/endpoint.ts'

const shared = {
  method: 'get',
  tag: 'links',
  refusals: { statuses: [400, 401, 403, 422, 429] },
  more: { parameters: [{ name: 'url', in: 'query', required: true, schema: { type: 'string', maxLength: 2048 } }] },
} as const

/** What links lead to, below JSON:API. */
export const previewEndpoints = ({ basePath }: WireNames): readonly Endpoint[] => [
  {
    ...{ ...shared, path: `${basePath}${previewPath}/metadata`, name: 'linkPreviews.metadata' },
    answers: (answer) => answered(200, json(answer)),
  },
  ...(['image', 'favicon'] as const).map((kind) => ({
    ...{ ...shared, path: `${basePath}${previewPath}/${kind}`, name: `linkPreviews.${kind}` },
    answers: () => answered(200, { 'image/*': { schema: { type: 'string', format: 'binary' } } }),
  })),
]
