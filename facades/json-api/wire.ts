/** How a name of a declaration is written on the wire: here and nowhere else. */
export const memberName = (name: string): string => name

export const mediaType = 'application/vnd.api+json'
export const jsonapi = { version: '1.1' } as const
