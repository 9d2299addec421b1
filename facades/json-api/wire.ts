export const mediaType = 'application/vnd.api+json'
export const jsonapi = { version: '1.1' } as const
