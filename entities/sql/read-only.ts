/** A value of which nothing can be changed, however deep. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? ReadonlyList<Item>
    : ReadonlyMembers<T>
  : T extends object
    ? ReadonlyMembers<T>
    : T

type ReadonlyMembers<T> = { readonly [Key in keyof T]: DeepReadonly<T[Key]> }

/** An interface, which a list of lists, as JSON may be, can name without end. */
interface ReadonlyList<Item> extends ReadonlyArray<DeepReadonly<Item>> {}
