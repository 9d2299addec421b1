import type { Api } from '../../routers/index.ts'

/** Where previews are served, below the JSON:API. */
export const previewPath = '/proxy/link-preview'

/**
 * A preview as it goes over the wire: pictures have addresses of ours, so that no browser shows a site who reads of it.
 * `baseUrl` is that of the JSON:API.
 */
export function toPreview(preview: Awaited<ReturnType<Api['linkPreviews']['metadata']>>, baseUrl: string) {
  const through = (kind: 'image' | 'favicon') =>
    `${baseUrl}${previewPath}/${kind}?url=${encodeURIComponent(preview[kind])}`
  return { ...preview, image: through('image'), favicon: through('favicon') }
}
