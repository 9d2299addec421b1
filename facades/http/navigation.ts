import type { FastifyRequest } from 'fastify'

/** Whether a browser opens this address as a page. Programs and the scripts of our pages accept no HTML. */
export const isNavigation = ({ url, headers }: FastifyRequest): boolean =>
  headers.accept?.includes('text/html') === true && !/^\/(api|trpc)\//.test(url)
