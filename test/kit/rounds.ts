import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is `npm run soak`, which has time. */
    soak: boolean
  }
}

/** How often a test repeats what chance decides: a few times in `npm test`, many times in `npm run soak`. */
export const rounds = (usual: number, inSoak: number): number => (inject('soak') ? inSoak : usual)
