import type { Context } from '../core/context.ts'
import { refuseRequest } from '../core/oauth-refusal.ts'
import { removeSlash } from '../ports/web-address.ts'

const GATEWAY = '/mcp'
const serverPath = /^\/mcp\/[\w-]{1,120}$/

/** Returns true if tokens can be asked for at this address: the whole service, all tool servers, or one of them. */
export function isResource({ services }: Pick<Context, 'services'>, address: string): boolean {
  const path = readPath(services.settings.baseUrl, address)
  return path !== undefined && (path === '' || path === GATEWAY || serverPath.test(path))
}

/** Returns the path of an address below ours; undefined if it is another's. */
function readPath(baseUrl: string, address: string): string | undefined {
  return address === baseUrl || address.startsWith(`${baseUrl}/`) ? address.slice(baseUrl.length) : undefined
}

/** Returns the tool server that an address is limited to, by its name in the address. */
export const findServerName = ({ services }: Pick<Context, 'services'>, address: string): string | undefined =>
  readPath(services.settings.baseUrl, address)?.match(/^\/mcp\/([\w-]+)$/)?.[1]

/** Returns true if tokens for a resource are good at this address: the same one, or one below it. */
const isWithin = (resource: string, address: string) => address === resource || address.startsWith(`${resource}/`)

/** Throws if a program asks at the token endpoint for an address that its grant does not contain. */
export function assertWithinResources(
  ctx: Pick<Context, 'services'>,
  granted: readonly string[],
  wanted: readonly string[],
): void {
  const isGranted = (address: string) =>
    isResource(ctx, address) && (granted.length === 0 || granted.some((resource) => isWithin(resource, address)))
  if (!wanted.map(removeSlash).every(isGranted))
    throw refuseRequest('The resource is not the one for which access was given.', 'invalid_target')
}

/** Returns true if a token with these resources is good at a path; without resources it is good everywhere. */
export const allowsPath = (resources: readonly string[], baseUrl: string, path: string): boolean =>
  resources.length === 0 || resources.some((resource) => isWithin(resource, `${baseUrl}${path}`))
