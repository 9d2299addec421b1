import type { Api } from '../../routers/index.ts'
import type { WireNames } from './names.ts'
import { describeAnswer, describeJson, type Endpoint } from './openapi.ts'

/** The path of previews below the JSON:API. */
export const previewPath = '/proxy/link-preview'

/**
 * Converts a preview for the wire: pictures have addresses of this service, so that no other site sees the reader.
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

/** Lists the endpoints of link previews. */
export const listPreviewEndpoints = ({ basePath }: WireNames): readonly Endpoint[] => [
  {
    ...sharedMembers,
    path: `${basePath}${previewPath}/metadata`,
    name: 'linkPreviews.metadata',
    answers: (answer) => describeAnswer(200, describeJson(answer)),
  },
  ...(['image', 'favicon'] as const).map((kind) => ({
    ...sharedMembers,
    path: `${basePath}${previewPath}/${kind}`,
    name: `linkPreviews.${kind}`,
    answers: () => describeAnswer(200, { 'image/*': { schema: { type: 'string', format: 'binary' } } }),
  })),
]
