import type { RecordRef } from '../../routers/resource/record.ts'
import type { Page } from '../../routers/verbs/read.ts'

/** The links and the numbers of one page of a collection. */
export function pageOf({ items, total, page: { size, number } }: Page<RecordRef>, self: string) {
  const lastPage = Math.max(1, Math.ceil(total / size))
  const before = (number - 1) * size
  const at = (target: number) => linkTo(self, target, size)
  return {
    links: {
      self,
      first: at(1),
      prev: number > 1 && number <= lastPage + 1 ? at(number - 1) : null,
      next: number < lastPage ? at(number + 1) : null,
      last: at(lastPage),
    },
    meta: {
      page: {
        currentPage: number,
        from: items.length > 0 ? before + 1 : 0,
        to: items.length > 0 ? before + items.length : 0,
        perPage: size,
        lastPage,
        total,
      },
    },
  }
}

/** The same address with another page in it. */
function linkTo(self: string, number: number, size: number): string {
  const [path, search = ''] = self.split(/\?(.*)/s)
  const parameters = new URLSearchParams(search)
  parameters.set('page[number]', String(number))
  parameters.set('page[size]', String(size))
  return `${path}?${parameters}`
}
