import type { FastifyRequest } from 'fastify'
import { prefers } from './accept.ts'

/** Whether a browser opens this address as a page. Programs and the scripts of our pages accept no HTML. */
export const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  prefers('text/html', headers.accept) && !/^\/(api|trpc)\//.test(url)
