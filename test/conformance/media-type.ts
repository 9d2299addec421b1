export const MEDIA_TYPE = 'application/vnd.api+json'

/** The URIs in one parameter of a media type. */
export const mediaTypeParameter = (mediaType: string, name: string): string[] =>
  new RegExp(`;\\s*${name}="([^"]*)"`).exec(mediaType)?.[1]?.split(' ').filter(Boolean) ?? []
