import type { Api } from '../../routers/index.ts'
import type { WireNames } from './names.ts'
import { describeAnswer, describeJson, type Endpoint } from './openapi.ts'

/** Where previews are served, below the JSON:API. */
export const previewPath = '/proxy/link-preview'

/**
 * A preview as it goes over the wire: pictures have addresses of ours, so that no browser shows a site who reads of it.
 * `baseUrl` is that of the JSON:API.
 */
export function toPreview(preview: Awaited<ReturnType<Api['linkPreviews']['metadata']>>, baseUrl: string) {
  const toProxyUrl = (kind: 'image' | 'favicon') =>
    `${baseUrl}${previewPath}/${kind}?url=${encodeURIComponent(preview[kind])}`
  return { ...preview, image: toProxyUrl('image'), favicon: toProxyUrl('favicon') }
}

const sharedMembers = {
  method: 'get',
  tag: 'links',
  refusals: { statuses: [400, 401, 403, 422, 429] },
  more: { parameters: [{ name: 'url', in: 'query', required: true, schema: { type: 'string', maxLength: 2048 } }] },
} as const

/** What links lead to, below JSON:API. */
export const listPreviewEndpoints = ({ basePath }: WireNames): readonly Endpoint[] => [
  {
    ...{ ...sharedMembers, path: `${basePath}${previewPath}/metadata`, name: 'linkPreviews.metadata' },
    answers: (answer) => describeAnswer(200, describeJson(answer)),
  },
  ...(['image', 'favicon'] as const).map((kind) => ({
    ...{ ...sharedMembers, path: `${basePath}${previewPath}/${kind}`, name: `linkPreviews.${kind}` },
    answers: () => describeAnswer(200, { 'image/*': { schema: { type: 'string', format: 'binary' } } }),
  })),
]
