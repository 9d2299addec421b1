import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, queryClient } from './api/client.ts'
import { isNotFound } from './api/error-text.ts'
import { findPageFile, hasPageFile, isPageFile } from './page-files.ts'

const buildAttachmentQuery = (id: string) =>
  queryOptions({
    queryKey: ['attachment', id],
    queryFn: async ({ signal }): Promise<Attachment> =>
      isPageFile(id)
        ? { fileType: findPageFile(id).fileType, textState: 'none' }
        : api.attachments.get.query({ id }, { signal }),
  })

/** Returns true if this page has no longer a file, or if the service has deleted it, as it does with those that belong to no message for an hour. */
export const isGone = async (id: string): Promise<boolean> =>
  isPageFile(id) ? !hasPageFile(id) : queryClient.fetchQuery(buildAttachmentQuery(id)).then(() => false, isNotFound)

/** A file as the service sees it, or as this page does if it is not uploaded. */
export type Attachment = Pick<Awaited<ReturnType<typeof api.attachments.get.query>>, 'fileType' | 'textState'>

/** Reads an uploaded file, and polls while the service reads its text for models. */
export const useAttachment = (id: string | undefined): Attachment | undefined =>
  useQuery({
    ...buildAttachmentQuery(id ?? ''),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (state.data?.textState === 'pending' ? 1500 : false),
  }).data
