/** The inputs of administrators' changes by the path of their procedure; `facades/web/admin-inputs.ts` makes it. */
declare module 'virtual:admin-inputs' {
  export const inputs: Readonly<Record<string, import('../../admin-inputs.ts').Members>>
}
