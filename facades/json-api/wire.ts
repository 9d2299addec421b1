export const mediaType = 'application/vnd.api+json'
/** A form with a file. */
export const formType = 'multipart/form-data'
export const jsonapi = { version: '1.1' } as const
