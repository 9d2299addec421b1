import type { Api } from '../../routers/index.ts'

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
