import { Problem } from '../../../routers/core/problems.ts'

/** What the system says where nothing more can be written: no room, none of the quota, a file that may not grow, or a disk that became read-only. */
const fullDisk = /^(ENOSPC|EDQUOT|EFBIG|EROFS)$/

/** Says in words that there is no room; throws every other failure as it came. */
export function explainFullDisk(cause: unknown): never {
  if (!fullDisk.test(String((cause as { code?: unknown }).code))) throw cause
  throw new Problem('unavailable', {
    detail: 'There is no room left to store this. Please contact your administrator.',
    cause,
  })
}
